"""Ending a search's trials early, by what they have shown against the others.

asha: asynchronous successive halving, in a sweep file
halving: at a rung a trial trains on, or ends
layers: the order of points with several objectives, as plain functions
"""

from orchestrator.search.stopping.asha import Asha

__all__ = ["Asha"]
