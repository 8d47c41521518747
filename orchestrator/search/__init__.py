"""Searches: what to try next. A sweep file names one: ``search=Random(40)``."""

from collections.abc import Mapping

from orchestrator.search.grid import Grid
from orchestrator.search.optuna import Optuna, Sampler
from orchestrator.search.random import Random

__all__ = ["SEARCHES", "Grid", "Optuna", "Random", "Sampler"]

SEARCHES: Mapping[str, type[Grid | Random | Optuna]] = {
    "grid": Grid,
    "random": Random,
    "optuna": Optuna,
}
"""The searches by their name on the command line."""
