"""Measurement of a training run, inside its own process.

A training function sees :class:`~orchestrator.measurement.run.Run` and ``Phase`` alone.

==============  ===================================================================
run             ``Run``: epochs, batches, phases, reports
reported        figures of the training function, checked where they are reported
context         place of a run (seed, device, cores, rank, data), channel of its reports
resumable       its progress up to a pause, and from a checkpoint on
progress        epochs, steps and samples, held against the budget; checkpoints
random_state    state of the random number generators, which a checkpoint has too
recorder        everything that is measured, epoch by epoch
step_timer      marks of a clock within steps, turned into blocks
steps           a step, its phases, an epoch
clocks          marks of the host's clock, or CUDA events
phase_hooks     phases from hooks on a model and its optimizers
copies          copies on a CUDA stream of their own
blocks          consecutive steps, the grain in which times are stored
throughput      the steady rate and its interval
stop_rule       end of a run once that interval is narrow enough
time_slices     time slices of an interleaved trial
memory          memory of the process and of its loader workers
usage           CPU time, page faults, torch's settings
figures         the trials table's figures and tags, from a recording
paced           these for reports, however many there are
ceilings        rates of the loader alone and of the model alone
fingerprint     hash of the first batches and the first loss of a trial of speed alone
compute_share   the part of a step that computes
bound           what bounds a trial, from its ceilings
==============  ===================================================================
"""
