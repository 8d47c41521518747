"""Numbers from tables, without an opinion.

- ``intervals``: t intervals of logarithms, and the quantile for many comparisons at once.
- ``pooling``: the spread between fresh runs of one config, pooled over configs.
- ``by_config``: one row a config, over its repeats; its speed if its loader, or model, were free.
- ``curves``: learning curves made by several trials; time to accuracy.
- ``against_best``: each config against the best, with a verdict.
- ``pareto``: the front of one, two or three objectives.
- ``matched_pairs``: configs that differ in chosen knobs alone, and the mean of their differences.
- ``noise_floor``, ``drift``, ``interference``: the machine's part in the differences.
"""
