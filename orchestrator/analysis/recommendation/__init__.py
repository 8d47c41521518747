"""The config to use and how much faster it is: figures alone, which the driver needs too.

- ``selection``: the config that the searching runs select, and those to repeat.
- ``cost``: the resources of a config, which decide among ties.
- ``starts``: what a training takes once, and whether that pays within its epochs.
- ``speedup``: a config's speed over the baseline's, by the rounds of the confirm stage.
- ``choice``: the config to use, from the selection and the confirm runs of its finalists.
- ``front``: one row a config, ``front.csv`` and ``composed.parquet``.
"""
