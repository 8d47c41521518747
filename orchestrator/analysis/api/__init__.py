"""The functions of ``an``: from a run or a frame to a frame.

- ``checks``: the arguments of the others.
- ``runs``: ``load``, ``describe``, ``configs``, ``pareto_front``, ``recommend``, ``compare``.
- ``meanings``: unit and meaning of each column.
- ``knobs``: ``effects``, ``interactions``, ``importance``.
- ``scaling``: ``scaling``, ``time_to_accuracy``, ``goodput``.
- ``files``: ``export``.
- ``plot``: the report's figures.
"""
