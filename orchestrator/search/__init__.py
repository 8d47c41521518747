"""Searches: what to try next. A sweep file names one: ``search=Random(40)``."""

from orchestrator.search.grid import Grid
from orchestrator.search.optuna import Optuna
from orchestrator.search.random import Random

__all__ = ["Grid", "Optuna", "Random"]
