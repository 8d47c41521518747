"""Figures of configs that were not trained end to end, composed by the knobs' roles.

A config's setting is its ``systems`` and ``both`` knobs, which decide its speed; its
learning combination is its ``learning`` and ``both`` knobs, which decide its learning curve. So
any run of its setting gives its speed, and any curve of its combination its accuracy; a config that
was itself trained, as the baseline is, has the accuracy of its own curves.

- ``parts``: the speed of each setting; accuracy and times of each combination.
- ``compose``: the table of configs.
"""
