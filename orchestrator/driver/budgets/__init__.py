"""Budgets of a run: what they are, what is spent of them, and what is cut where one ends.

counters: what takes a GPU or a counter, refused on a machine without one
budgets: limits of time, core-hours, GPU-hours and cost
expectation: what is known of trials before any has run
spending: what was spent, and what there is room for
limits: cuts where a budget ends, journalled
"""
