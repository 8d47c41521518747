"""Telemetry: a trial's processes, cores and GPUs, read from outside.

sampler: all of them, twice a second
contamination: load of others on the trial's cores
own_overhead: load of the sweep's own driver and servers
gpu_sampler: GPUs, by NVML
"""
