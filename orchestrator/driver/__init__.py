"""A run from the command line's options to the report.

==============  ==================================================================
options         the options of the command line, each declared once
request         options with their sweep and data, checked before anything starts
warm            what a search is told of earlier runs first
resume          the resumption of a run: its options, its question, what has changed
run             the run from top to bottom, and its exit code
starting        what is said while data and Ray are made ready
machine_load    the load of this machine: the sweep's own and others'
trackers        the trackers of a run
results         tables, report and last lines of a run
signals         the first and the second Ctrl-C or SIGTERM
simulation      a sweep played on recorded runs of any source, for benchmarks
assembly        the parts of a run: executor, factory of trials, search
executors       the executors by their name on the command line
trials          from a search's proposal to a trial and its launch
room            room for a run's temporary files, looked at now and then
outputs         files apart from the journal: what trials print, times of their steps
analyst         the judge that searches ask, made of the analysis
best_so_far     the best configs so far, for the live console
candidates      the configs of a factored search, for the analysis to compose
question        the record of what a sweep asks
sweep_json      the record that ``sweep.json`` holds
planning        ``--plan``: what would run, counted
budgets         limits of time, core-hours and cost: spending and cuts
==============  ==================================================================
"""
