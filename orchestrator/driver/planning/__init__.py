"""``--plan``: what a sweep would run, counted before anything starts.

command: prints the plan
plan: the plan of a sweep and of a request: the stages that its run would make, counted
totals: trials, time and core-hours over all stages; what budgets keep back
spending: what the trials of a run have taken; trials without room in its budgets do not run
text: the plan as lines of text
"""
