"""Two runs of a sweep, or several pairs of runs, compared config by config.

environment: conditions of all trials of a run, and the differences between two runs
pairs: the speeds of each config in both runs, where they may be compared
estimates: changes with their errors, and the tests on them
changes: each change held against a tolerance, and the verdict on all of them
figures: the speed and the accuracy, with their tolerances
compare: two runs: the change that all configs have in common, and each one's own
sessions: the same over several pairs of runs
sentences: the verdict and each change in sentences
text: what is in common, and refusals in words
"""
