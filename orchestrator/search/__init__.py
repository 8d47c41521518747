"""Searches: what to try next. A sweep file names one: ``search=Random(40)``.

A new search is one file with a :class:`~orchestrator.kernel.search.SearchSpec`, and one entry in
:data:`SEARCHES`, which the command line and the tests of all searches read. One of a sweep file's
own needs no entry: ``docs/own-search.md``.

checks: checks of the constructors' arguments
factored: speed from short probes, accuracy from training
grid: every combination
named: searches by their name on the command line
optuna: Optuna's samplers, named in a sweep file
optuna_search: the search that drives an Optuna study; imports Optuna
optuna_space: knobs in Optuna's words
optuna_study: what an Optuna study is told
own: a search of the user's own, whose answers are checked
random: configs drawn at random
rounds: given configs, each as often as the sweep repeats it
stages: what comes before and after a search
stopping: ending trials early by what they have shown against the others
unasked: configs that were not asked for yet
within: whether a config that a search proposes lies in the space
"""

from orchestrator.kernel.problem import SearchProblem
from orchestrator.kernel.search import WAIT, Pause, Proposal, Search, SearchSpec
from orchestrator.search.factored import Factored
from orchestrator.search.grid import Grid
from orchestrator.search.named import SEARCHES
from orchestrator.search.optuna import Optuna, Sampler
from orchestrator.search.random import Random
from orchestrator.search.stopping import Asha

__all__ = [
    "SEARCHES",
    "WAIT",
    "Asha",
    "Factored",
    "Grid",
    "Optuna",
    "Pause",
    "Proposal",
    "Random",
    "Sampler",
    "Search",
    "SearchProblem",
    "SearchSpec",
]
