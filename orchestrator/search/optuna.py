"""Optuna's samplers, for one, two or three objectives at once."""

from __future__ import annotations

from dataclasses import dataclass, replace
from enum import StrEnum
from typing import TYPE_CHECKING

from orchestrator.search.base import Search, SearchProblem
from orchestrator.search.checks import require_positive

if TYPE_CHECKING:
    from optuna.samplers import BaseSampler


class Sampler(StrEnum):
    """Optuna's samplers."""

    TPE = "tpe"
    """Tree-structured Parzen estimators: learns from a few dozen trials."""
    NSGA2 = "nsga2"
    """A genetic algorithm: goes generation by generation, and needs hundreds of trials."""

    def made(self, *, trials: int, seed: int) -> BaseSampler:
        """Return Optuna's sampler, set up for a search of so many trials."""
        from optuna.samplers import NSGAIISampler, TPESampler

        if self is Sampler.NSGA2:
            # Optuna's own 50 would leave a sweep of 100 trials two generations.
            return NSGAIISampler(population_size=min(50, max(4, trials // 5)), seed=seed)
        return TPESampler(n_startup_trials=min(10, max(2, trials // 3)), seed=seed)


@dataclass(frozen=True)
class Optuna:
    """Lets one of Optuna's samplers choose each config from the results so far.

    Attributes:
        trials: Distinct configs to try at most, the baseline among them.
        sampler: The sampler.
    """

    trials: int = 30
    sampler: Sampler = Sampler.TPE

    def __post_init__(self) -> None:
        require_positive(self, "trials")

    def with_trials(self, trials: int) -> Optuna:
        """Return the same search, limited to ``trials`` configs."""
        return replace(self, trials=trials)

    def start(self, problem: SearchProblem) -> Search:
        """Return a fresh search over ``problem``."""
        from orchestrator.search.optuna_search import (
            OptunaSearch,  # importing Optuna takes a second
        )

        sampler = self.sampler.made(trials=self.trials, seed=problem.seed)
        return OptunaSearch(problem, trials=self.trials, sampler=sampler)
