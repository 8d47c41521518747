"""Optuna's samplers, for one, two or three objectives at once."""

from __future__ import annotations

import warnings
from collections.abc import Iterator
from dataclasses import dataclass
from enum import StrEnum
from typing import TYPE_CHECKING, Any

from orchestrator.errors import nearest
from orchestrator.field_types import shown
from orchestrator.kernel.problem import SearchProblem
from orchestrator.kernel.search import Search, SearchSpec
from orchestrator.search.grid import Count, every_combination, refuse_field, require_types
from orchestrator.search.suggested import Suggested

if TYPE_CHECKING:
    from optuna.samplers import BaseSampler


class Sampler(StrEnum):
    """Optuna's samplers."""

    TPE = "tpe"
    """Tree-structured Parzen estimators: learns from a few dozen trials."""
    NSGA2 = "nsga2"
    """A genetic algorithm: works in generations, and needs hundreds of trials."""
    GP = "gp"
    """Gaussian processes: learns from few trials, and takes a second or more for each."""
    SOBOL = "sobol"
    """Sobol's sequence, scrambled: even over the space, whatever the results."""

    def made(self, *, trials: int, seed: int) -> BaseSampler:
        """Return Optuna's sampler, set up for a search of so many trials."""
        from optuna.exceptions import ExperimentalWarning
        from optuna.samplers import GPSampler, NSGAIISampler, QMCSampler, TPESampler

        num_first = min(10, max(2, trials // 3))
        match self:
            case Sampler.TPE:
                return TPESampler(n_startup_trials=num_first, seed=seed)
            case Sampler.NSGA2:
                # Optuna's own 50 would leave a sweep of 100 trials two generations.
                return NSGAIISampler(population_size=min(50, max(4, trials // 5)), seed=seed)
            case Sampler.GP:
                return GPSampler(
                    n_startup_trials=num_first, seed=seed, warn_independent_sampling=False
                )
            case Sampler.SOBOL:
                with warnings.catch_warnings():
                    warnings.simplefilter("ignore", ExperimentalWarning)
                    return QMCSampler(scramble=True, seed=seed, warn_independent_sampling=False)


@dataclass(frozen=True)
class Optuna(SearchSpec):
    """Lets one of Optuna's samplers choose each config from the results so far.

    Attributes:
        trials: Distinct configs to try at most, the baseline among them. A space that has fewer is
            tried whole.
        sampler: The sampler, or its name.
    """

    trials: Count = 30
    sampler: Sampler | str = Sampler.TPE

    def __post_init__(self) -> None:
        names = [str(sampler) for sampler in Sampler]
        if self.sampler in names:
            object.__setattr__(self, "sampler", Sampler(self.sampler))
        else:
            guess = nearest(shown(self.sampler), names)
            refuse_field(self, "sampler", ", ".join(names), guess)
        require_types(self)

    @property
    def warm_starts(self) -> bool:
        """Return True where results change what is suggested."""
        return self.sampler is not Sampler.SOBOL

    def combinations(self, problem: SearchProblem) -> Iterator[dict[str, Any]] | None:
        """Return every combination of a finite space."""
        return every_combination(problem)

    def start(self, problem: SearchProblem) -> Search:
        """Return a fresh search over ``problem``."""
        # Not at the top: importing Optuna takes a second.
        from orchestrator.search.optuna_search import OptunaSearch
        from orchestrator.search.suggested_search import SuggestedSearch

        sampler = Sampler(self.sampler).made(trials=self.trials, seed=problem.seed)
        is_suggested = any(isinstance(each, Suggested) for each in problem.domains.values())
        made = SuggestedSearch if is_suggested else OptunaSearch
        return made(problem, trials=self.trials, sampler=sampler)
