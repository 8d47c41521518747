"""A factored search as a sweep file states it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import ClassVar

from orchestrator.kernel.candidates import Candidates
from orchestrator.kernel.problem import SearchProblem
from orchestrator.kernel.search import PlannedStage, Search, SearchSpec
from orchestrator.search.checks import require_positive
from orchestrator.search.factored.factors import Factors
from orchestrator.search.factored.planning import PROBE_SHARE, planned_stages
from orchestrator.search.factored.search import FactoredSearch, Settings
from orchestrator.search.grid import combinations


@dataclass(frozen=True)
class Factored(SearchSpec):
    """Finds the front of a grid by speed and learning apart; see ``docs/sweep-files.md``.

    Attributes:
        points: Values of each knob that varies over an interval, as of a grid.
        probes: Probes of a setting at most, before those of the front are settled.
        probe_steps: Steps of a probe at most. It must hold three rounds of the loader's workers,
            each with the batches that it works ahead, for a steady state.
        confirm_steps: Steps of a confirm run that is compared, at most. More rounds of short runs
            tell two configs apart sooner than a few long ones.
        seeds: Trainings of a curve at most, each with a seed of its own. Curves of the front and
            near it are trained again.
        trials: Curves to train at most, the baseline's among them, drawn from all at random.
            None: all of them.
    """

    has_rungs: ClassVar[bool] = True

    points: int = 3
    probes: int = 6
    probe_steps: int = 96
    confirm_steps: int = 384
    seeds: int = 3
    trials: int | None = None

    def __post_init__(self) -> None:
        for name in ("points", "probes", "probe_steps", "confirm_steps", "seeds"):
            require_positive(self, name)
        if self.trials is not None:
            require_positive(self, "trials")

    def with_trials(self, trials: int) -> Factored:
        """Return the same search, limited to ``trials`` curves."""
        return replace(self, trials=trials)

    def start(self, problem: SearchProblem) -> Search:
        """Return a fresh search over ``problem``.

        Raises:
            SweepFileError: There are more combinations than can be gone through.
        """
        return FactoredSearch(self.factors(problem), self._settings(problem))

    def factors(self, problem: SearchProblem) -> Factors:
        """Return the groups of configs, as they are known beforehand.

        Raises:
            SweepFileError: There are more combinations than can be gone through.
        """
        candidates = Candidates(problem=problem)
        candidates.add_all(combinations(problem, self.points))
        return Factors(candidates)

    def planned(self, problem: SearchProblem) -> Sequence[PlannedStage]:
        """Return the stages of the search: probes, rungs of curves, further seeds."""
        return planned_stages(self.factors(problem), self._settings(problem))

    @property
    def confirm_share(self) -> float:
        """Time of a confirm run that is compared over a whole training's, as far as is known."""
        return min(PROBE_SHARE * self.confirm_steps / self.probe_steps, 1.0)

    def _settings(self, problem: SearchProblem) -> Settings:
        return Settings(
            probe_steps=self.probe_steps,
            confirm_steps=self.confirm_steps,
            max_probes=self.probes,
            seeds=max(self.seeds, problem.repeats),
            trials=self.trials,
        )
