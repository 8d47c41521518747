"""Whether trials that run beside others are as fast as alone: a few configs, both ways."""

from __future__ import annotations

import random
from collections.abc import Sequence
from typing import Final

from orchestrator.search.base import WAIT, Pause, Proposal
from orchestrator.search.candidates import Key, config_of, key_of
from orchestrator.search.judge import Judge
from orchestrator.search.stages import FullBudget, Ledger
from orchestrator.trial import Stage, TrialState

RUNS_ALONE: Final = 3
"""Of each config: their difference is the noise that the effect of company must exceed. Of two
configs with two runs each an effect would have to be 1.6 times as large to be seen."""


class CheckingAlone(FullBudget):
    """Runs a few configs alone that have run beside others before.

    Where the judge finds that company changes their speed, all trials from here on run alone,
    and those that were trained beside others are trained once more: their figures are not
    comparable with what follows.

    Args:
        num_configs: Configs to run alone: the baseline, then others drawn by the seed. The
            fastest of the first trials would not do: selected for being fast, it looks slower
            when it is run again, and company harmless.
        speed: Metric that is compared; a config without it is not run alone.
        judge: Compares.
    """

    def __init__(self, *, num_configs: int, speed: str, judge: Judge) -> None:
        self._num_configs = num_configs
        self._metric = speed
        self._judge = judge
        self._to_probe: list[tuple[Key, int]] | None = None
        self._again: list[tuple[Key, int]] | None = None

    def ask(self, ledger: Ledger) -> Proposal | Pause | None:
        """The next run alone; then, if it must be, the next one to be trained once more."""
        if ledger.num_out:
            return WAIT
        if self._to_probe is None:
            chosen = self._chosen(ledger)
            self._to_probe = [(key, run) for run in range(RUNS_ALONE) for key in chosen]
        if self._to_probe:
            return self._proposal(ledger, *self._to_probe.pop(0), Stage.PROBE)
        if self._again is None:
            self._again = self._to_train_again(ledger)
        if self._again:
            return self._proposal(ledger, *self._again.pop(0), Stage.TRAIN)
        return None

    def _chosen(self, ledger: Ledger) -> Sequence[Key]:
        """The baseline and some of those that have completed; none where one alone did."""
        completed = {
            key_of(ledger.problem, trial.config)
            for trial, result in ledger.results
            if trial.stage is Stage.TRAIN
            and result.state is TrialState.COMPLETED
            and self._metric in result.metrics
        }
        baseline = key_of(ledger.problem, ledger.problem.baseline)
        first = [baseline] * (baseline in completed)
        others = sorted(completed - set(first), key=repr)
        random.Random(f"alone of {ledger.problem.seed}").shuffle(others)
        return [*first, *others][: self._num_configs] if len(completed) > 1 else []

    def _to_train_again(self, ledger: Ledger) -> list[tuple[Key, int]]:
        found = self._judge.crowding(ledger.results)
        if found is None or not found.is_shown:
            return []
        ledger.alone = True
        ledger.notes.append(f"{found.text}: every trial runs alone from here on")
        return [
            (key_of(ledger.problem, trial.config), trial.repeat)
            for trial, result in ledger.results
            if trial.stage is Stage.TRAIN and result.state is not TrialState.INFEASIBLE
        ]

    def _proposal(self, ledger: Ledger, key: Key, repeat: int, stage: Stage) -> Proposal:
        return Proposal(
            config=config_of(ledger.problem, key),
            budget=ledger.problem.budget,
            stage=stage,
            repeat=repeat,
            alone=True,
        )
