"""Rounds: given configs again and again, each round in a fresh random order."""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator
from itertools import chain

from orchestrator.kernel.candidates import Candidates
from orchestrator.kernel.problem import Key, key_of
from orchestrator.kernel.search import Pause, Proposal, Search
from orchestrator.trial import Trial, TrialResult, TrialState


class Rounds(Search):
    """A search that asks for every config once, then again, as often as the problem repeats.

    The baseline, the first of the candidates, is asked for first of all. So the repeats of
    a config lie far apart, and a drift of the machine's speed meets all configs alike. A
    config that turned out infeasible is not asked for again.

    Args:
        candidates: The configs.
        more: Returns the candidates of the same search with so many configs.
    """

    extends = True

    def __init__(self, candidates: Candidates, more: Callable[[int], Candidates]) -> None:
        self._candidates = candidates
        self._more = more
        self._problem = candidates.problem
        self._infeasible: set[Key] = set()
        first, *others = candidates.keys
        self._left: Iterator[tuple[Key, int]] = self._rounds("", first, *others)

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

    def extend(self, trials: int) -> None:
        """Go on to ``trials`` configs in all, those of the same search with so many."""
        known = set(self._candidates.keys)
        new = [key for key in self._more(trials).keys if key not in known]
        new = new[: max(0, trials - len(known))]
        self._candidates.keys += new
        self._left = chain(self._left, self._rounds(f"extended to {trials}, ", None, *new))

    def _rounds(self, which: str, first: Key | None, *others: Key) -> Iterator[tuple[Key, int]]:
        for repeat in range(self._problem.repeats):
            order = list(others) if first is None or repeat == 0 else [first, *others]
            random.Random(f"{which}round {repeat} of {self._problem.seed}").shuffle(order)
            ahead = [first] if first is not None and repeat == 0 else []
            for key in [*ahead, *order]:
                yield key, repeat
