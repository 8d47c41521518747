"""Budgets of a run: what they are, what is spent of them, and what is cut where one ends.

budgets: limits of time and core-hours; what is expected of trials, and what is kept back
spending: what was spent, and what there is room for
limits: cuts where a budget ends, journalled
"""
