"""A run from the command line's options to the report.

==============  ==================================================================
options         the options of the command line, each declared once
request         options with their sweep and data, checked before anything starts
warm            results of earlier runs that a search receives first
run             the run from top to bottom, and its exit code
trackers        what follows a run: console, MLflow, outputs; its report and last lines
signals         the first and the second Ctrl-C or SIGTERM
assembly        the parts of a run: executor, factory of trials, search
phases          the search with the stages around it, which a plan counts too
interleaving    which confirm runs may share cores in time slices
trials          from a search's proposal to a trial and its launch
analyst         the analysis of the trials so far: judge of searches, best configs
record          the record of a sweep, ``sweep.json``; the earlier processes of a run
planning        ``--plan``: what would run, counted
budgets         limits of time and core-hours
==============  ==================================================================
"""
