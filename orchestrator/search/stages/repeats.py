"""More repeats where they help: of the best config and of its contenders."""

from __future__ import annotations

import random
from collections.abc import Sequence
from typing import Final

from orchestrator.kernel.problem import Key, config_of, key_of
from orchestrator.kernel.search import WAIT, Pause, PlannedStage, Proposal
from orchestrator.search.stages.judge import Judge
from orchestrator.search.stages.sequence import Ledger, Phase, Scope

MAX_CONTENDERS: Final = 3
"""Configs repeated together with the best one: the nearest of its near-ties."""


class Repeating(Phase):
    """Rounds of repeats.

    Once all trials have ended the judge names the configs of which one more run would help to
    find the best. Each runs once, in random order; then the judge is asked again, until it names
    none or there were as many repeats as planned.

    Args:
        runs: Runs of each config by the search.
        max_runs: Runs that a config has at most, those of the search included.
        judge: Names the configs.
    """

    def __init__(self, *, runs: int, max_runs: int, judge: Judge) -> None:
        self._more = max_runs - runs
        self._max_runs = max_runs
        self._judge = judge
        self._round: list[Key] = []
        self._num_rounds = self._num_repeats = 0
        self._ended = False

    def planned(self, scope: Scope) -> Sequence[PlannedStage]:
        """Return the most repeats; none of a sole config."""
        configs = scope.at_most(1 + MAX_CONTENDERS)
        if configs < 2 or self._more < 1:
            return ()
        most = configs * self._more
        line = (
            f"up to {most} more: the best config and up to {MAX_CONTENDERS} that are not told from "
            f"it, until each has {self._max_runs} runs"
        )
        return [PlannedStage(name="repeats", least=0, most=most, lines=[line])]

    def ask(self, ledger: Ledger) -> Proposal | Pause | None:
        """Return the next repeat of this round, or the first of the next one."""
        if not (self._round or self._ended):
            if ledger.num_out:
                return WAIT
            self._round = self._next_round(ledger)
            self._ended = not self._round
        if self._ended:
            return None
        key, problem = self._round.pop(0), ledger.problem
        return Proposal(
            config=config_of(problem, key), budget=problem.budget, repeat=ledger.num_asked[key]
        )

    def go_on(self, trials: int | None) -> None:
        """Ask the judge again: there are more configs."""
        self._ended, self._num_repeats = False, 0

    def _next_round(self, ledger: Ledger) -> list[Key]:
        configs = self._judge.to_repeat(ledger.results, max_runs=self._max_runs)
        named = [key_of(ledger.problem, config) for config in configs]
        # A run that failed counts: what never completes must not be repeated for ever.
        keys = [key for key in named if ledger.num_asked[key] < self._max_runs]
        most = (1 + MAX_CONTENDERS) * self._more
        keys = keys[: max(most - self._num_repeats, 0)]
        self._num_repeats += len(keys)
        self._num_rounds += 1
        random.Random(f"repeats {self._num_rounds} of {ledger.problem.seed}").shuffle(keys)
        return keys
