"""Measurement of a training run, inside its own process.

A training function sees :class:`~orchestrator.measurement.run.Run` and ``Phase`` alone.

==============  ===================================================================
run             ``Run``: epochs, batches, phases, reports
resumable       a run that can pause: progress up to a pause, checkpoints
context         a trial's place in the sweep; its channel; its checkpoint
recorder        everything that is measured, epoch by epoch
step_timer      marks of a clock within steps, turned into blocks
clocks          marks of the host's clock, or CUDA events; copies on a separate stream
phase_hooks     phases from hooks on a model and its optimizers
blocks          steps, their phases, and consecutive ones: the grain of stored times
throughput      the steady rate, its interval, and the end of a run once it is narrow
time_slices     time slices of an interleaved trial
usage           memory, CPU time, page faults, torch's settings
trial_figures   the trials table's figures and tags, from a recording; reported figures
ceilings        rates of the loader alone and of the model alone
fingerprint     hash of the first batches and the first loss of a trial of speed alone
bound           what bounds a trial, from its ceilings and the part of a step that computes
==============  ===================================================================
"""
