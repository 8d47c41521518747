"""``orchestrator tune train.py``: the loader settings with which a script trains fastest.

command: the command line; processes of the script until there is an answer
edit: the settings written into the script
loaders: loaders of other settings over the same order of samples
plan: which setting is timed next, and what the times show
probe: the script's process, in which the settings take turns
slices: the time of a slice
"""
