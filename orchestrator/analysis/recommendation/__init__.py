"""The config to use, how much faster it is, and how sure that is.

Figures:

- ``selection``: the config that the searching runs select, and those to repeat; light, the driver
  uses it too.
- ``pick``: the choice of a rule that is not ``fastest_within``.
- ``cost``: the resources of a config, which decide among ties.
- ``pairs``: two configs in the rounds of the confirm stage.
- ``speedup``: a config's speed over the baseline's.
- ``choice``: the config to use, from the selection and the confirm runs of its finalists.
- ``front``: one row a config, ``front.csv`` and ``composed.parquet``.

Sentences:

- ``sentences``: why a config is recommended, and what its speed-up rests on.
- ``caveats``: what weakens a recommendation.
- ``one_class``: models that predict the same class for all samples.
- ``boundary``: recommended values at the edge of what was tried.

Both:

- ``recommend``: the recommendation.
"""
