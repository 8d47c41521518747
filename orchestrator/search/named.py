"""Searches by their name on the command line."""

from __future__ import annotations

from collections.abc import Mapping

from orchestrator.kernel.search import SearchSpec
from orchestrator.search.factored import Factored
from orchestrator.search.grid import Grid
from orchestrator.search.optuna import Optuna, Sampler
from orchestrator.search.random import Random

SEARCHES: Mapping[str, SearchSpec] = {
    "grid": Grid(),
    "random": Random(),
    **{str(sampler): Optuna(sampler=sampler) for sampler in Sampler},
    "optuna": Optuna(),
    "factored": Factored(),
}
"""Searches by their name, as they are where the sweep has no other of that name."""


def named_search(name: str, own: SearchSpec) -> SearchSpec:
    """Return the search of a name: the sweep's own if it is one, else one with its trials.

    Args:
        name: A key of :data:`SEARCHES`.
        own: The sweep's search.
    """
    named = SEARCHES[name]
    of_that_sampler = not isinstance(own, Optuna) or name in ("optuna", own.sampler)
    if isinstance(own, type(named)) and of_that_sampler:
        return own
    trials = getattr(own, "trials", None)
    return named if trials is None else named.with_trials(trials)
