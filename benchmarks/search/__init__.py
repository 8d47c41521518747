"""A search's part of a grid's front, and of the grid's cost.

    python -m benchmarks.search            # replays; prints the page of results

- ``truth``: a table of true speeds and curves, from which noisy runs are drawn
- ``made``: tables from formulas: loaders and models that bound each other, curves by step size
- ``recorded``: tables from recorded speeds and curves
- ``zeus``: the public traces of Zeus, six workloads
- ``score``: hypervolume, epsilon indicator and regret against the truth's own values
- ``rivals``: random search, TPE, NSGA-II, plain Optuna, on the same draws
- ``planted``: faults that the search has to find, by sweeps of ``planted_sweeps``
- ``page``: the page of results
- ``recording``: the sweeps that record the tables
"""
