"""``--plan``: what a sweep would run, counted before anything starts.

plan: the stages that a run would make, their totals, and whether the budgets have room for them
spending: what the trials of a run have taken; trials without room in its budgets do not run
text: the plan as lines of text, printed; by the record where the sweep file may not run
"""
