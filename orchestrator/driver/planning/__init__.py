"""``--plan``: what a sweep would run, counted before anything starts.

command: prints the plan
of_request: the plan of a request, and what its budgets know beforehand
plan: what a sweep would run, counted
totals: trials, time and core-hours over all stages, least and most
groups: what of a plan is counted apart once a run has begun
left: what is left of a run that has begun
past_durations: durations of the trials of earlier runs
text: the plan as lines of text
totals_text: its last lines: budgets and totals
stopping: rungs at which trials end early
wrapping: its lines in the width of a terminal
words: counts, durations and shares in words
"""
