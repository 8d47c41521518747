"""The confirm stage: the selected config and the baseline once more, interleaved."""

from __future__ import annotations

import random
from collections.abc import Callable, Mapping
from typing import Any

from orchestrator.search.base import WAIT, Pause, Proposal, Search, SearchProblem
from orchestrator.trial import Report, Stage, Trial, TrialResult, TrialState

Select = Callable[[list[tuple[Trial, TrialResult]]], Mapping[str, Any] | None]
"""Names the config to confirm from all trials of the search, or None where none will do."""


class Confirmed:
    """A search, and after it what the claimed speed-up rests on.

    Once the inner search has no more to ask for and was told of all its trials, ``select``
    is called, once. Its config and the baseline are then run ``repeats`` times each with the
    whole budget: in pairs, in random order within a pair, one trial at a time. The test split
    is looked at in the first run of the selected config that completes, and in no other.

    A selected config that is the baseline has nothing to be compared with: it runs alone.

    Args:
        inner: The search.
        problem: What it was started with.
        repeats: Runs of each of the two configs. 0: no such stage.
        select: Names the config to confirm.
    """

    def __init__(self, inner: Search, problem: SearchProblem, repeats: int, select: Select) -> None:
        self._inner = inner
        self._problem = problem
        self._repeats = repeats
        self._select = select
        self._results: list[tuple[Trial, TrialResult]] = []
        self._num_out = 0
        self._exhausted = False
        self._selected: Mapping[str, Any] | None = None
        self._left: list[tuple[Mapping[str, Any], int]] | None = None
        self._test_seen = False

    def ask(self) -> Proposal | Pause | None:
        """The inner search's next trial, then the next one to confirm."""
        proposal = None if self._exhausted else self._inner.ask()
        if proposal is not None:
            self._num_out += isinstance(proposal, Proposal)
            return proposal
        self._exhausted = True
        if self._repeats == 0:
            return None
        if self._num_out > 0:
            return None if self._left == [] else WAIT
        if self._left is None:
            self._left = self._pairs()
        return self._confirm() if self._left else None

    def tell(self, trial: Trial, result: TrialResult) -> None:
        """Hands on what became of a trial of the inner search."""
        self._num_out -= 1
        if trial.stage is not Stage.CONFIRM:
            self._results.append((trial, result))
            self._inner.tell(trial, result)
        elif trial.evaluate_test and result.state is TrialState.COMPLETED:
            self._test_seen = True

    def should_stop(self, trial: Trial, report: Report) -> bool:
        """The inner search's verdict; a trial that confirms gets its whole budget."""
        return trial.stage is not Stage.CONFIRM and self._inner.should_stop(trial, report)

    def _pairs(self) -> list[tuple[Mapping[str, Any], int]]:
        selected = self._select(list(self._results))
        if selected is None:
            return []
        self._selected = self._problem.canonical(selected)
        configs = [self._selected]
        if dict(self._selected) != dict(self._problem.baseline):
            configs.append(self._problem.baseline)
        rng = random.Random(f"confirm of {self._problem.seed}")
        pairs = ((rng.sample(configs, len(configs)), repeat) for repeat in range(self._repeats))
        return [(config, repeat) for pair, repeat in pairs for config in pair]

    def _confirm(self) -> Proposal:
        assert self._left
        config, repeat = self._left.pop(0)
        self._num_out += 1
        return Proposal(
            config=config,
            budget=self._problem.budget,
            stage=Stage.CONFIRM,
            repeat=repeat,
            evaluate_test=config is self._selected and not self._test_seen,
        )
