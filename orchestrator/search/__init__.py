"""Searches, which choose the configs to try. A sweep file names one: ``search=Random(40)``.

A new search is one file with a :class:`~orchestrator.kernel.search.SearchSpec`, and one entry in
:data:`SEARCHES`, which the command line and the tests of all searches read. A sweep file's own
search needs no entry: ``docs/own-search.md``.

factored: speed from short probes, accuracy from training
grid: every combination, or configs drawn at random; rounds of given configs
layers: the order of points with several objectives
optuna: Optuna's samplers, named in a sweep file
optuna_search: the search that drives an Optuna study; imports Optuna
optuna_study: results in Optuna's words
own: a search of the user's own, with its answers checked
stages: the phases before and after a search
stopping: early ends of trials that are behind the others
suggested: the domain of values that an Optuna objective suggests while it runs
suggested_search: the Optuna study of these; imports Optuna
"""

from collections.abc import Mapping

from orchestrator.kernel.problem import SearchProblem
from orchestrator.kernel.search import WAIT, Pause, Proposal, Search, SearchSpec
from orchestrator.search.factored import Factored
from orchestrator.search.grid import Grid, Random
from orchestrator.search.optuna import Optuna, Sampler
from orchestrator.search.stopping import Asha

__all__ = [
    "SEARCHES", "WAIT", "Asha", "Factored", "Grid", "Optuna", "Pause", "Proposal", "Random",
    "Sampler", "Search", "SearchProblem", "SearchSpec",
]  # fmt: skip

SEARCHES: Mapping[str, SearchSpec] = {
    "grid": Grid(),
    "random": Random(),
    **{str(sampler): Optuna(sampler=sampler) for sampler in Sampler},
    "optuna": Optuna(),
    "factored": Factored(),
}
"""Searches by their name on the command line, where the sweep has no other of that name."""


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
