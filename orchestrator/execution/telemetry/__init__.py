"""Telemetry: a trial's processes, cores and GPUs, read from outside.

sampler: all of them and energy, twice a second
contamination: load of others on the trial's cores
gpu_sampler: GPUs, by NVML
shared_memory: files in /dev/shm
"""
