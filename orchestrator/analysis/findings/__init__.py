"""What a run shows: found once, as data, then put into words and files.

- ``codes``: the codes of statements, reasons and caveats.
- ``findings``: the findings of a run.
- ``reasons``: for a config, for none, for a speed-up that is not known.
- ``caveats``: what the figures rest on, and what weakens them.
- ``figures``: the config's and the baseline's, their difference in accuracy, the cost.
- ``words``: the answer, why, and how sure that is, in sentences.
- ``reason_words``, ``caveat_words``: reasons, notes and checks in sentences.
- ``content``: ``recommended.json``.
"""
