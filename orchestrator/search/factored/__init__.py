"""Factored search: the front of a grid from speeds and learning curves, measured separately.

A ``systems`` knob changes speed and never what is learned, a ``learning`` knob what is learned and
not the time of a step. So a group of configs that share the knobs that are ``both`` has the speed
of its setting and the accuracy of its curve, whichever the two are combined.

curves: curves in rungs, further seeds, a race to a target; and the composed front
factors: groups, settings, curves; the objectives, as a factored search serves them
findings: what the search knows so far
flows: trials that depend on each other in steps, others side by side
planning: the stages, counted beforehand
probes: probes of the settings' speeds
roles: the roles of knobs, checked
search: ``Factored(...)`` of a sweep file, and the stages in order
speed_model: a model of all speeds, from those of some settings
speeds: speeds of settings, and which are still in
"""

from orchestrator.search.factored.search import Factored

__all__ = ["Factored"]
