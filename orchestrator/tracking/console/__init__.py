"""The console: the events of a sweep as a live view or as lines.

========  ==================================================================
tracker   the tracker: chooses the view, tells it of each event
live      the view on a terminal: lines that stay, a block that is drawn again
block     the block's content, for a width and a height
lines     the view in a file or a pipe: lines that stay
log       the lines that stay, made of events
flow      parts of a line, laid out in a width
phases    the phase of a sweep in words
progress  trials by state, time left
best      the best configs so far, found by the recommendation's own code
load      the load of the machine, read by the driver
wording   figures, durations and configs as text
========  ==================================================================
"""
