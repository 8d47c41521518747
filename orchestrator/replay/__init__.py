"""Replay: recorded runs in the place of trials, on a simulated clock.

The search, the journal, the tables and the analysis are those of a measured sweep.

recorded: a recorded run, and the protocol of what hands them out
table: the recorded runs of a run directory
drawing: which recorded run a trial is given
segment: the part of a recorded run that a trial plays, from its budget
early_end: where a recorded run of speed alone would have ended
nodes: simulated nodes: cores, GPUs, isolation
playing: a launch that runs, its trials and their rows
executor: one clock and one heap of events
setup: what a replay is made of, what it costs, its marks
as_recorded: a replay from a command line: its table read, its sweep made to fit
"""
