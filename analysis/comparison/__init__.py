"""Two runs of a sweep, or several pairs of runs, compared config by config.

environment: what the speed of every trial of a run depends on, and where two runs differ in it
pairs: the speeds of each config in both runs, where they may be compared
estimates: logarithms of ratios with their errors, and the tests on them
compare: two runs: what all configs have in common, and what each changed by itself
sessions: the same over several pairs of runs
text: what the terminal shows of a comparison, in words
"""
