"""Functions and classes written for Ray Tune, as trainables: ``from_ray``.

from_ray: the trainable of a function or a class
training: one trial of it: its folder, its session, and how it ends
session: what ``tune.report`` and its siblings find in a trial's process
figures: what of a report is recorded
filled: the figures that Ray Tune fills in
stopping: when a report ends the training
own_process: Ray's own calls, which are refused within a trial
classes: a class of Ray Tune, step by step
resources: ``tune.with_resources`` as a demand, and what is called with the dictionary
param_space: ``config`` and ``param_space`` as a config class, and back to the dictionary
space_tree: the knobs in the two dictionaries
labels: values of knobs for objects of any kind
derived: what ``tune.sample_from`` computes
"""

from orchestrator.execution.ray.functions.from_ray import from_ray

__all__ = ["from_ray"]
