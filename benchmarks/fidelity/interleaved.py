"""A search that runs one config again and again, interleaved with another one."""

from __future__ import annotations

import random
from dataclasses import dataclass, replace
from typing import Final

from orchestrator.search.base import WAIT, Pause, Proposal, SearchProblem
from orchestrator.search.candidates import config_of
from orchestrator.search.grid import Grid
from orchestrator.trial import Report, Trial, TrialResult

OTHERS: Final = 2
"""Runs of the other config, which the runs looked at are interleaved with."""


@dataclass(frozen=True)
class InterleavedRuns:
    """Runs of the baseline on one lease of cores, with some of the space's other config.

    Attributes:
        runs: Runs of the baseline.
    """

    runs: int = 4

    def start(self, problem: SearchProblem) -> InterleavedSearch:
        """Return a fresh search over ``problem``."""
        return InterleavedSearch(problem, self.runs)

    def with_trials(self, trials: int) -> InterleavedRuns:
        """Return the same search, limited to ``trials`` runs of the baseline."""
        return replace(self, runs=trials)


class InterleavedSearch:
    """All runs in one round, in random order."""

    def __init__(self, problem: SearchProblem, runs: int) -> None:
        baseline = dict(problem.baseline)
        configs = [config_of(problem, key) for key in Grid().candidates(problem).keys]
        (other,) = (config for config in configs if dict(config) != baseline)
        self._left = [
            Proposal(
                config=config,
                budget=problem.budget,
                repeat=number,
                isolated=True,
                interleaved=True,
            )
            for config, count in ((baseline, runs), (other, OTHERS))
            for number in range(count)
        ]
        random.Random(f"interleaved runs of {problem.seed}").shuffle(self._left)
        self._num_out = 0

    def ask(self) -> Proposal | Pause | None:
        """Return the next run; nothing more until all have ended."""
        if not self._left:
            return WAIT if self._num_out else None
        self._num_out += 1
        return self._left.pop(0)

    def tell(self, trial: Trial, result: TrialResult) -> None:
        """Count one run less."""
        self._num_out -= 1

    def should_stop(self, trial: Trial, report: Report) -> bool:
        """Return False: no run is stopped."""
        return False
