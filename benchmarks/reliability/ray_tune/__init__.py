"""Differential suite: the same function through plain Ray Tune and through ``from_ray``.

    python -m benchmarks.reliability.ray_tune

What is recorded is compared: the state, each report's figures, the config as the function saw it
and the files that it found. A difference must be one that docs/own-trainable.md names, with its
message.

cases: the list of functions of one signature, which one sweep and one Tuner run
reporting: those by what they report
ending: those by what they return or yield, and how they end
surroundings: those by what they find: files, checkpoints, the context, Ray
processes: those by what they start and change in their process
functions: all of these, and the differences that are documented
wrapped: callables and classes that must be handed over by themselves
callables: further ones, of all kinds
stopped: those that Ray Tune ends, or whose figures it fills in
spaces: configs and spaces
odd_spaces: those that are less common
seen: what a function saw, told to the suite
plain: both through plain Ray Tune
ours: both through from_ray
our_sweep: the sweep of the functions
compare: the two held against each other
"""
