"""Searches: what to try next. A sweep file names one: ``search=Random(40)``."""

from collections.abc import Mapping

from orchestrator.search.factored import Factored
from orchestrator.search.grid import Grid
from orchestrator.search.optuna import Optuna, Sampler
from orchestrator.search.random import Random

__all__ = ["SEARCHES", "Factored", "Grid", "Optuna", "Random", "Sampler"]

SEARCHES: Mapping[str, type[Grid | Random | Optuna | Factored]] = {
    "grid": Grid,
    "random": Random,
    "optuna": Optuna,
    "factored": Factored,
}
"""The searches by their name on the command line."""
