"""The config to use, how much faster it is, and how sure that is.

Figures:

- ``selection``: the config that the searching runs speak for; light, the driver asks it too.
- ``pick``: what a rule of another kind than the usual takes.
- ``cost``: what a config takes of the machine, which decides among ties.
- ``repeats``: the configs to run once more before one is selected.
- ``pairs``: two configs in the rounds of the confirm stage.
- ``speedup``: a config's speed over the baseline's.
- ``finalists``: the configs of the confirm stage; is it decided, is another one faster?
- ``choice``: the config to use, from all of these.
- ``confirmed``: one figure a config, that of its confirm runs where it has any.
- ``front``: the table of the front, ``front.csv``.

Sentences:

- ``sentences``: why a config is recommended, and what its speed-up rests on.
- ``caveats``: what weakens a recommendation.
- ``one_class``: models that predict the same class for all samples.
- ``composed``: what a composed recommendation rests on; the table of all composed configs.
- ``boundary``: recommended values at the edge of what was tried.

Both:

- ``recommend``: the recommendation.
"""
