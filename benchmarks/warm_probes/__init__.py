"""Time of a probe beside its steps, and its speed in a process forked from a warm server.

__main__: the command, which prints a page
overhead: seconds beside the steps, from whole sweeps of probes
speeds: speed of warm probes beside that of fresh ones, interleaved
probing: a search that probes one config over and over
lenet, graphsage: the sweeps
"""
