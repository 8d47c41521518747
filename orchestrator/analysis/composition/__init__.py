"""Figures of configs that were not trained end to end, composed by the knobs' roles.

A config's setting is its ``systems`` and ``both`` knobs, which decide its speed; its
learning combination is its ``learning`` and ``both`` knobs, which decide its learning curve. So
its speed is that of any run of its setting, and its accuracy that of any curve of its combination.

- ``parts``: the speed of each setting, the accuracy of each combination.
- ``times``: the samples, evaluations and set-up of each curve.
- ``compose``: the table of configs.
- ``against_measured``: composed figures beside those of confirm runs.
"""
