"""Ending a search's trials early, by what they have shown against the others.

asha: asynchronous successive halving, in a sweep file
pausing: trials pause at rungs, and go on where they are among the best
ending: trials that cannot pause end at a rung where they are not among the best
wrapped: what both are around the search that picks the configs
rung: curves at a rung, and the best of them
layers: the order of points with several objectives, as plain functions
"""

from orchestrator.search.stopping.asha import Asha

__all__ = ["Asha"]
