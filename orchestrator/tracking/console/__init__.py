"""The console: the events of a sweep as a live view or as lines.

========  ==================================================================
tracker   the tracker: chooses the view, gives it each event
lines     the view in a file or a pipe: lines that stay
live      the view on a terminal: lines that stay, a block that is drawn again
block     the block's content
log       the lines that stay, made of events
progress  phase, trials by state, time left; best configs and load
wording   figures, durations and configs as text
========  ==================================================================
"""
