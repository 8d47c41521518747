"""Factored search: the front of a grid from speeds and learning curves that are measured apart.

A ``systems`` knob changes speed and never what is learned, a ``learning`` knob what is learned and
not the time of a step. So a group of configs that share the knobs that are ``both`` has the speed
of its setting and the accuracy of its curve, whichever the two are combined.

clock: curves side by side until the first has reached a target
cost: the cheaper of two settings that are equally fast
curves: curves in rungs, the better ones of each group go on
factors: groups, settings, curves
findings: what the search knows so far
fingerprints: systems knobs that change what is trained on
front: the composed front
goal: the objectives, as a factored search serves them
planning: the stages, counted beforehand
probes: looks at the settings' speeds
roles: the roles of knobs, checked
search: the stages in order
seeds: more seeds and probes on the front
spec: ``Factored(...)`` of a sweep file
speeds: speeds of settings, and which are still in
"""

from orchestrator.search.factored.factors import Factors
from orchestrator.search.factored.spec import Factored

__all__ = ["Factored", "Factors"]
