"""The console: the events of a sweep as a live view or as lines.

========  ==================================================================
tracker   the tracker: chooses the view, tells it of each event
live      the view on a terminal, drawn again on each tick
lines     the lines in a file or a pipe: one a start, one an end
progress  trials by state, time left
best      the best configs so far, found by the recommendation's own code
wording   figures, durations and configs as text
========  ==================================================================
"""
