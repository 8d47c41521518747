"""Factored search: the front of a grid from speeds and learning curves that are measured apart.

A ``systems`` knob changes speed and never what is learned, a ``learning`` knob what is learned and
not the time of a step. So a group of configs that share the knobs that are ``both`` has the speed
of its setting and the accuracy of its curve, whichever the two are combined.

curves: curves in rungs, further seeds, and the composed front
factors: groups, settings, curves
findings: what the search knows so far
goals: the objectives, as a factored search serves them
planning: the stages, counted beforehand
probes: looks at the settings' speeds
race: curves side by side until the first has reached a target
roles: the roles of knobs, checked
search: ``Factored(...)`` of a sweep file, and the stages in order
speeds: speeds of settings, and which are still in
"""

from orchestrator.search.factored.factors import Factors
from orchestrator.search.factored.search import Factored

__all__ = ["Factored", "Factors"]
