"""The console: the events of a sweep as a live view or as lines.

========  ==================================================================
log       lines that stay, for a file or a pipe; figures as text
live      the view on a terminal: lines that stay, a block that is drawn again
block     the block's content
progress  phase, trials by state, time left; best configs and load
========  ==================================================================
"""
