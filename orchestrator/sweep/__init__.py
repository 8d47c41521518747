"""The question: a sweep file, read, checked and changed by the command line.

==========  ==================================================================
definition  ``Sweep``: the question and the way to its answer
rigor       ``Rigor``: the runs, margins and limits that an answer rests on
file        runs a sweep file as a module of its own
loading     from a sweep file to a checked sweep
checks      checks of every field, all at once
objectives  checks of the objectives, the rule and what they rest on
stopping    checks of what ends trials early
values      checks of one value
tracebacks  an error of a sweep file as one message
overrides   the changes that a command line makes
problem     from a sweep to the problem that a search solves
==========  ==================================================================
"""
