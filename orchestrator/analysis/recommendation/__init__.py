"""The config to use and how much faster it is: figures alone, which the driver asks for too.

- ``selection``: the config that the searching runs select, and those to repeat.
- ``pick``: the choice of a rule that is not ``fastest_within``.
- ``cost``: the resources of a config, which decide among ties.
- ``pairs``: two configs in the rounds of the confirm stage.
- ``speedup``: a config's speed over the baseline's.
- ``choice``: the config to use, from the selection and the confirm runs of its finalists.
- ``front``: one row a config, ``front.csv`` and ``composed.parquet``.
"""
