"""Numbers from tables, without an opinion.

- ``intervals``: t intervals of logarithms, and the quantile for many comparisons at once.
- ``pooling``: the spread between fresh runs of one config, pooled over configs.
- ``by_config``: one row a config, over its repeats.
- ``curves``: learning curves that several trials make, paused and gone on with.
- ``run_intervals``: the interval of a single run's speed.
- ``against_best``: each config against the best, with a verdict.
- ``pareto``: the front of one, two or three objectives.
- ``matched_pairs``: configs that differ in chosen knobs alone, and the mean of their differences.
- ``noise_floor``: the difference of the baseline from itself.
- ``drift``: the change of the machine's speed in the course of a sweep.
- ``interference``: the effect of co-located trials on each other.
- ``time_to_accuracy``: the time at which each config reached an accuracy.
- ``common_change``: the change that all configs share from one run to another.
"""
