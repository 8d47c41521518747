"""A search that runs one config again and again in turns, every other run with a neighbour."""

from __future__ import annotations

import random
from dataclasses import dataclass, replace
from typing import Final

from orchestrator.search.base import WAIT, Pause, Proposal, SearchProblem
from orchestrator.search.candidates import config_of
from orchestrator.search.grid import Grid
from orchestrator.trial import Report, Stage, Trial, TrialResult

OTHERS: Final = 1
"""Runs of the other config of either way, which the runs looked at are interleaved with."""
AMPLE: Final = 100
"""Times a trial's budget that the neighbour could train for: it is stopped long before."""


@dataclass(frozen=True)
class InTurns:
    """Runs of the baseline on one lease of cores, with some of the space's other config.

    Attributes:
        pairs: Runs of the baseline, half of them: one alone, one with a neighbour.
    """

    pairs: int = 2

    def start(self, problem: SearchProblem) -> InTurnsSearch:
        """A fresh search over ``problem``."""
        return InTurnsSearch(problem, self.pairs)

    def with_trials(self, trials: int) -> InTurns:
        """The same search, limited to ``trials`` runs of the baseline."""
        return replace(self, pairs=max(trials // 2, 1))


class InTurnsSearch:
    """All runs at once, in random order, then the neighbour."""

    def __init__(self, problem: SearchProblem, pairs: int) -> None:
        baseline = dict(problem.baseline)
        configs = [config_of(problem, key) for key in Grid().candidates(problem).keys]
        (other,) = (config for config in configs if dict(config) != baseline)
        runs = [
            Proposal(
                config=config,
                budget=problem.budget,
                repeat=number,
                isolated=isolated,
                interleaved=True,
            )
            for config, count in ((baseline, pairs), (other, OTHERS))
            for number in range(count)
            for isolated in (True, False)
        ]
        random.Random(f"in turns of {problem.seed}").shuffle(runs)
        neighbour = Proposal(
            config=other, budget=problem.budget.times(AMPLE), stage=Stage.PROBE, interleaved=True,
            companion=True,
        )  # fmt: skip
        self._left = [*runs, neighbour]
        self._num_out = 0

    def ask(self) -> Proposal | Pause | None:
        """The next run; nothing more until all have ended."""
        if not self._left:
            return WAIT if self._num_out else None
        self._num_out += 1
        return self._left.pop(0)

    def tell(self, trial: Trial, result: TrialResult) -> None:
        """One run less is out."""
        self._num_out -= 1

    def should_stop(self, trial: Trial, report: Report) -> bool:
        """Never."""
        return False
