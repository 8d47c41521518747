"""Optuna's samplers, for one, two or three objectives at once."""

from __future__ import annotations

from dataclasses import dataclass, replace
from enum import StrEnum

from orchestrator.search.base import Search, SearchProblem
from orchestrator.search.checks import require_positive


class Sampler(StrEnum):
    """Which of Optuna's samplers chooses."""

    TPE = "tpe"
    """Tree-structured Parzen estimators: learns from a few dozen trials."""
    NSGA2 = "nsga2"
    """A genetic algorithm: goes generation by generation, and needs hundreds of trials."""


@dataclass(frozen=True)
class Optuna:
    """Lets one of Optuna's samplers choose each config from the results so far.

    Attributes:
        trials: Distinct configs to try at most, the baseline among them.
        sampler: Which sampler.
    """

    trials: int = 30
    sampler: Sampler = Sampler.TPE

    def __post_init__(self) -> None:
        require_positive(self, "trials")

    def with_trials(self, trials: int) -> Optuna:
        """The same search, limited to ``trials`` configs."""
        return replace(self, trials=trials)

    def start(self, problem: SearchProblem) -> Search:
        """A fresh search over ``problem``."""
        from orchestrator.search.optuna_search import (
            OptunaSearch,
        )  # importing Optuna takes a second

        return OptunaSearch(problem, trials=self.trials, sampler=self.sampler)
