"""A search that probes the baseline over and over, as a factored search probes its settings."""

from __future__ import annotations

from dataclasses import dataclass, replace

from orchestrator.search.base import WAIT, Pause, Proposal, Search, SearchProblem
from orchestrator.trial import Report, Stage, Trial, TrialResult


@dataclass(frozen=True)
class Probes:
    """Probes of the baseline, one after the other.

    Attributes:
        trials: Their number.
        steps: Steps of each.
    """

    trials: int
    steps: int

    def with_trials(self, trials: int) -> Probes:
        """Return the same search with so many probes."""
        return replace(self, trials=trials)

    def start(self, problem: SearchProblem) -> Search:
        """Return a fresh search over ``problem``."""
        budget = replace(problem.budget, steps=self.steps, evaluated=False)
        probe = Proposal(config=problem.baseline, budget=budget, stage=Stage.PROBE, isolated=True)
        return _Probing([replace(probe, repeat=repeat) for repeat in range(self.trials)])


class _Probing:
    def __init__(self, proposals: list[Proposal]) -> None:
        self._left = proposals[::-1]
        self._num_running = 0

    def ask(self) -> Proposal | Pause | None:
        if self._left:
            self._num_running += 1
            return self._left.pop()
        return WAIT if self._num_running else None

    def tell(self, trial: Trial, result: TrialResult) -> None:
        self._num_running -= 1

    def should_stop(self, trial: Trial, report: Report) -> bool:
        return False
