"""Supervision of one trial: whatever happens to its processes becomes its one row.

supervisor: attempts one after another, their rows folded into one
attempt: one process a rank, from the start to one outcome
attempt_monitor: telemetry, memory, limits and active time of an attempt
endings: state and reason, from the way processes ended; rows of several runs merged
paused: checkpoints of trials and of paused learning curves
"""
