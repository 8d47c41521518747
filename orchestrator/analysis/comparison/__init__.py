"""Two runs of a sweep, or several pairs of runs, compared config by config.

- ``pairs``: conditions of two runs, and the speeds of each config in both.
- ``estimates``: changes with their errors, each config's own and the median of all.
- ``changes``: each change against a tolerance, and the verdict on all of them.
- ``compare``: the comparison of two runs, or of several pairs.
- ``words``: the verdict and each change in sentences.
"""
