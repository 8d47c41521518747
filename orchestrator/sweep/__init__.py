"""The question: a sweep file, read, checked and changed by the command line.

==========  ==================================================================
definition  ``Sweep``: the question and the way to its answer
rigor       ``Rigor``: the runs, margins and limits that an answer rests on
loading     from a sweep file, run as a module of its own, to a checked sweep
checks      checks of every field, all at once
overrides   the changes that a command line makes
problem     from a sweep to the problem that a search solves
==========  ==================================================================
"""
