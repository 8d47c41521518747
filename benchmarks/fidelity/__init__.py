"""Fidelity: a config's throughput is the same figure in every run of it.

__main__: the benchmark
lenet, graphsage: the sweeps, each of two configs
interleaved: a search that interleaves the runs of one config with another's
lenet_interleaved, graphsage_interleaved: the sweeps with that search
yardstick: readings of the host's own speed between the epochs of a trial
host_speed: rates brought to one host speed by these readings
"""
