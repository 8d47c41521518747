"""Replay: recorded runs in the place of trials, on a simulated clock.

The search, the journal, the tables and the analysis are those of a measured sweep.

recorded: recorded runs, and their table in a run directory
drawing: which recorded run a trial plays
segment: the part of a recorded run that a trial plays, from its budget
executor: one clock, one heap of events, the cores and GPUs of simulated nodes
setup: a replay from a command line
"""
