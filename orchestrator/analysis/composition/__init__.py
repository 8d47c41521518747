"""Figures of configs that were not trained end to end, composed by the knobs' roles.

A config's setting is its ``systems`` and ``both`` knobs, which decide its speed; its
learning combination is its ``learning`` and ``both`` knobs, which decide its learning curve. So
its speed is that of any run of its setting, and its accuracy that of any curve of its combination.

- ``parts``: the speed of each setting, from its probes; the accuracy of each combination, from its
  curves.
- ``times``: what a curve tells of time: its samples, evaluations and set-up.
- ``compose``: the table of configs.
- ``time_to_target``: the time at which each config reaches an accuracy.
- ``against_measured``: composed figures beside those of confirm runs.
"""
