"""Rounds: given configs again and again, each round in a fresh random order."""

from __future__ import annotations

import random
from collections.abc import Iterator

from orchestrator.search.base import Pause, Proposal
from orchestrator.search.candidates import Candidates, Key, key_of
from orchestrator.trial import Report, Trial, TrialResult, TrialState


class Rounds:
    """A search that asks for every config once, then again, as often as the problem repeats.

    The baseline, the first of the candidates, is asked for first of all. So the repeats of
    a config lie far apart, and a drift of the machine's speed meets all configs alike. A
    config that turned out infeasible is not asked for again.
    """

    def __init__(self, candidates: Candidates) -> None:
        self._candidates = candidates
        self._problem = candidates.problem
        self._infeasible: set[Key] = set()
        self._left = self._rounds()

    def ask(self) -> Proposal | Pause | None:
        """Return the next trial, or None after the last round."""
        for key, repeat in self._left:
            if key not in self._infeasible:
                config = self._candidates.config(key)
                return Proposal(config=config, budget=self._problem.budget, repeat=repeat)
        return None

    def tell(self, trial: Trial, result: TrialResult) -> None:
        """Remember the configs that cannot run."""
        if result.state is TrialState.INFEASIBLE:
            self._infeasible.add(key_of(self._problem, trial.config))

    def should_stop(self, trial: Trial, report: Report) -> bool:
        """Return False: each config gets its whole budget."""
        return False

    def _rounds(self) -> Iterator[tuple[Key, int]]:
        for repeat in range(self._problem.repeats):
            order = list(self._candidates.keys)
            first = [order.pop(0)] if repeat == 0 else []
            random.Random(f"round {repeat} of {self._problem.seed}").shuffle(order)
            for key in [*first, *order]:
                yield key, repeat
