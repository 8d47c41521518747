"""``--plan``: what a sweep would run, counted before anything starts.

command: prints the plan
plan: the plan of a sweep and of a request: the stages that its run would make, counted
totals: trials, time and core-hours over all stages; what is left of them in a run that has begun
durations: durations of the trials of earlier runs
text: the plan as lines of text
"""
