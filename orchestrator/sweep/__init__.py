"""The question: a sweep file, read, checked and changed by the command line.

==========  ==================================================================
definition  ``Sweep``: the question and the way to its answer
rigor       ``Rigor``: the runs, margins and limits that an answer rests on
loading     from a sweep file, run as a module, to a checked sweep
checks      checks of every field, all at once
problem     the changes that a command line makes; the problem that a search solves
==========  ==================================================================
"""
