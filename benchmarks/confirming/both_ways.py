"""A search that runs two configs in rounds, in alternation interleaved and one after another."""

from __future__ import annotations

import random
from dataclasses import dataclass, replace
from typing import Final

from orchestrator.search.base import WAIT, Pause, Proposal, SearchProblem
from orchestrator.search.candidates import Candidates, config_of
from orchestrator.search.grid import Grid
from orchestrator.trial import Report, Stage, Trial, TrialResult

RUNS: Final = 4
"""Trials of a round of either way, two each."""


@dataclass(frozen=True)
class BothWays:
    """Every config of the space once a round, isolated.

    Attributes:
        rounds: Rounds of each way.
    """

    rounds: int = 12

    def start(self, problem: SearchProblem) -> BothWaysSearch:
        """Return a fresh search over ``problem``."""
        return BothWaysSearch(Grid().candidates(problem), self.rounds)

    def with_trials(self, trials: int) -> BothWays:
        """Return the same search, limited to ``trials`` runs of two configs."""
        return replace(self, rounds=max(trials // RUNS, 1))


class BothWaysSearch:
    """Rounds of even number interleaved, those of odd number one after another."""

    def __init__(self, candidates: Candidates, rounds: int) -> None:
        self._candidates = candidates
        self._numbers = list(range(2 * rounds))
        self._round: list[Proposal] = []
        self._num_out = 0

    def ask(self) -> Proposal | Pause | None:
        """Return the next run of this round, or the first of the next one."""
        if self._num_out and not (self._round and self._round[0].interleaved):
            return WAIT
        if not self._round:
            if not self._numbers:
                return None
            self._round = self._proposals(self._numbers.pop(0))
        self._num_out += 1
        return self._round.pop(0)

    def tell(self, trial: Trial, result: TrialResult) -> None:
        """Count one run less."""
        self._num_out -= 1

    def should_stop(self, trial: Trial, report: Report) -> bool:
        """Return False: no run is stopped."""
        return False

    def _proposals(self, number: int) -> list[Proposal]:
        problem = self._candidates.problem
        keys = list(self._candidates.keys)
        random.Random(f"round {number} of {problem.seed}").shuffle(keys)
        return [
            Proposal(
                config=config_of(problem, key),
                budget=problem.budget,
                stage=Stage.CONFIRM,
                repeat=number,
                isolated=True,
                interleaved=number % 2 == 0,
            )
            for key in keys
        ]
