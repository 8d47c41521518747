"""Running trials: each in fresh processes, on leased cores, under a supervisor.

inline: executor of this machine: one launch after another, or Ray from the first long trial on
ray: executor on Ray Tune, here or on a cluster
in_flight: news of a launch, from its trials to the control loop
interleaving: trials of one lease of cores, a single one or several in time slices
placement: cores of a trial, and how many trials fit
core_locks: locks of the host's cores, for all sweeps on it
leases: cores that trials may have, leased to them
process: processes that train, forked from a server
supervision: attempts at a trial, their limits, and its one row
telemetry: processes, cores and GPUs of a trial, read from outside
"""
