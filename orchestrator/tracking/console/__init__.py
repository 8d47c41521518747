"""The console: the events of a sweep as lines, and on a terminal a live view below them.

=====  ===================================================
words  trials, figures, configs and phases as text
view   the view: progress, load, best configs, running trials
live   the tracker: writes the lines and draws the view
=====  ===================================================
"""
