"""Two runs of a sweep, or several pairs of runs, compared config by config.

environment: conditions of all trials of a run, and the differences between two runs
pairs: the speeds of each config in both runs, where they may be compared
estimates: logarithms of ratios with their errors, and the tests on them
compare: two runs: the change that all configs have in common, and each one's own
sessions: the same over several pairs of runs
text: comparisons in words
"""
