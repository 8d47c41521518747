"""The console: the events of a sweep as a live view or as lines.

========  ==================================================================
tracker   the tracker: chooses the view, gives it each event
log       the view in a file or a pipe: lines that stay; figures as text
live      the view on a terminal: lines that stay, a block that is drawn again
block     the block's content
progress  phase, trials by state, time left; best configs and load
========  ==================================================================
"""
