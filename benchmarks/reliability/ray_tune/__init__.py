"""Differential suite: the same function through plain Ray Tune and through ``from_ray``.

    python -m benchmarks.reliability.ray_tune

What is recorded is compared: the state, each report's figures, the config as the function saw it
and the files that it found. A difference must be one that docs/own-trainable.md names, with its
message.

cases: the list of functions of one signature, which one sweep and one Tuner run
reporting: those by what they report
ending: those by what they return or yield, and how they end
surroundings: those by what they find: files, checkpoints, the context
functions: all of these, and the differences that are documented
wrapped: callables and classes that must be handed over by themselves
spaces: configs and spaces
seen: what a function saw, told to the suite
plain: both through plain Ray Tune
ours: both through from_ray
our_sweep: the sweep of the functions
compare: the two held against each other
"""
