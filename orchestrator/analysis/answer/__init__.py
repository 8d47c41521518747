"""The first words of page, terminal and MLflow on a run.

- ``answer``: sentence, figures and checks.
- ``lead``: the sentence, and its status.
- ``changes``: the settings that differ from the baseline's, and a config named by them.
- ``accuracy``: a config's accuracy less the baseline's.
- ``effort``: what the search took, and what its answer saves.
- ``checks``: health checks, what the figures of a run rest on.
- ``machine_checks``: those of the machine, and the sentence on a busy one.
- ``content``: ``recommended.json``.
"""
