"""A run from the command line's options to the report.

==============  ==================================================================
options         the options of the command line, each declared once
declaration     the declaration of one option
request         options with their sweep and data, checked before anything starts
resume          the resumption of a run: its options, its question, what has changed
run             the run from top to bottom, and its exit code
signals         the first and the second Ctrl-C or SIGTERM
replaying       a replay: its table read, its sweep made to fit
assembly        the parts of a run: executor, factory of trials, search
executors       the executors by their name on the command line
trials          from a search's proposal to a trial and its launch
loop            the control loop between the search and the executor
analyst         the judge that searches ask, made of the analysis
best_so_far     the best configs so far, for the live console
candidates      the configs of a factored search, for the analysis to compose
sweep_json      the record that ``sweep.json`` holds
plan_command    ``--plan``: prints the plan
plan            what a sweep would run, counted
plan_text       the plan as lines of text
past_durations  durations of the trials of earlier runs
==============  ==================================================================
"""
