"""Functions and classes written for Ray Tune, as trainables: ``from_ray``."""

from orchestrator.execution.ray.functions.from_ray import from_ray

__all__ = ["from_ray"]
