"""The analysis on tables that are drawn: how often it is right, and how long it takes.

comparisons   differences between configs that are claimed and not there, or there and missed
two_runs      regressions between two runs, likewise
effects       knobs that do something, and knobs that do nothing
interference  effects that the interference check finds
pareto        the Pareto front of a large table, beside other implementations
report_scale  the report of very many trials: time, memory, size
"""
