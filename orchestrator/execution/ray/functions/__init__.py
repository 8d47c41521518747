"""Functions and classes written for Ray Tune, as trainables: ``from_ray``.

from_ray: the trainable of a function or a class, and its demand
training: one trial of it: its folder, its session, its steps
session: what ``tune.report`` and its siblings find in a trial's process
param_space: ``config`` and ``param_space`` as a config class, and back to the dictionary
space_tree: the knobs in the two dictionaries
labels: values of knobs for objects of any kind
"""

from orchestrator.execution.ray.functions.from_ray import from_ray

__all__ = ["from_ray"]
