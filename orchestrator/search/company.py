"""Whether trials that run beside others are as fast as alone: a few configs, both ways in turn."""

from __future__ import annotations

import random
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Final

from orchestrator.search.base import WAIT, Pause, Proposal
from orchestrator.search.candidates import Key, config_of, key_of
from orchestrator.search.judge import Judge
from orchestrator.search.stages import FullBudget, Ledger
from orchestrator.trial import Report, Stage, Trial, TrialResult, TrialState

ROUNDS: Final = 3
"""In each of them every config runs alone and beside others. Of two configs that makes six
differences, between runs that follow each other."""


@dataclass(frozen=True)
class Stretch:
    """Runs of one way within a round.

    Attributes:
        number: The round's, from 1 on: a probe of a search of its own is numbered 0.
        alone: Whether they run one at a time, each with the node to itself.
        keys: What runs, in this order.
    """

    number: int
    alone: bool
    keys: Sequence[Key]


class CheckingAlone(FullBudget):
    """Runs a few configs alone and beside others, in rounds.

    The two ways take turns, and which comes first does too: what the machine does meanwhile,
    becoming slower for one, meets both alike. Beside others, each is measured with the rest of
    the nodes full of copies of these configs. The copies are asked for first, have budget for
    all that is measured beside them, and are stopped when it has ended: so nobody is alone at
    its start or its end.

    Where the judge finds that company changes their speed, all trials from here on run alone,
    and those that were trained beside others are trained once more: their figures are not
    comparable with what follows.

    Args:
        num_configs: Configs to run: the baseline, then others drawn by the seed. The fastest of
            the first trials would not do: selected for being fast, it looks slower when it is
            run again, and company harmless.
        at_once: Trials that fill all nodes.
        speed: Metric that is compared; a config without it is not run.
        judge: Compares.
    """

    def __init__(self, *, num_configs: int, at_once: int, speed: str, judge: Judge) -> None:
        self._num_configs = num_configs
        self._at_once = at_once
        self._metric = speed
        self._judge = judge
        self._stretches: list[Stretch] | None = None
        self._now: Stretch | None = None
        self._to_measure: list[Key] = []
        self._is_measuring = False
        self._to_fill = 0
        self._companions_out = 0
        self._num_companions = 0
        self._companions_fail = False
        self._again: list[tuple[Key, int]] | None = None

    def ask(self, ledger: Ledger) -> Proposal | Pause | None:
        """The next run of this stretch; at the end what must be trained once more."""
        if self._stretches is None:
            if ledger.num_out:
                return WAIT
            self._stretches = _in_turn(self._chosen(ledger), ledger.problem.seed)
        while self._now or self._stretches:
            if self._now is None:
                self._now = self._stretches.pop(0)
                self._to_measure = list(self._now.keys)
                self._to_fill = 0 if self._now.alone else self._at_once - 1
            asked = self._of(self._now, ledger)
            if asked is not None:
                return asked
            self._now = None
        if self._again is None:
            self._again = self._to_train_again(ledger)
        if self._again:
            return _proposal(ledger, *self._again.pop(0), stage=Stage.TRAIN, alone=True)
        return None

    def tell(self, trial: Trial, result: TrialResult) -> None:
        """Remembers what is still out."""
        if trial.stage is not Stage.PROBE:
            return
        if is_companion(trial):
            self._companions_out -= 1
            self._companions_fail |= result.state in (TrialState.FAILED, TrialState.INFEASIBLE)
        else:
            self._is_measuring = False

    def should_stop(self, trial: Trial, report: Report) -> bool:
        """Whether it keeps nobody company any more."""
        return is_companion(trial) and not self._is_measuring and not self._to_measure

    def _of(self, stretch: Stretch, ledger: Ledger) -> Proposal | Pause | None:
        """What a stretch asks for next; None at its end."""
        if self._is_company_missed(stretch):
            return self._companion(stretch, ledger)
        if self._to_measure and not self._is_measuring:
            self._is_measuring = True
            key = self._to_measure.pop(0)
            return _proposal(ledger, key, stretch.number, alone=stretch.alone)
        return WAIT if ledger.num_out else None

    def _is_company_missed(self, stretch: Stretch) -> bool:
        """At the start of the stretch, and where some ends while others are measured."""
        if stretch.alone or self._companions_fail:
            return False
        lost_some = self._is_measuring and self._companions_out < self._at_once - 1
        return self._to_fill > 0 or lost_some

    def _companion(self, stretch: Stretch, ledger: Ledger) -> Proposal:
        key = stretch.keys[self._companions_out % len(stretch.keys)]
        self._to_fill = max(self._to_fill - 1, 0)
        self._companions_out += 1
        self._num_companions += 1
        budget = ledger.problem.budget.times(1 + len(stretch.keys))
        asked = _proposal(ledger, key, ROUNDS + self._num_companions, alone=False)
        return replace(asked, budget=budget)

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


def _in_turn(keys: Sequence[Key], seed: int) -> list[Stretch]:
    """The stretches of all rounds: alone, beside, beside, alone, ... or the other way about."""
    if not keys:
        return []
    rng = random.Random(f"company of {seed}")
    alone, stretches = rng.random() < 0.5, list[Stretch]()
    for number in range(1, ROUNDS + 1):
        order = rng.sample(list(keys), len(keys))
        stretches += [Stretch(number, way, order) for way in (alone, not alone)]
        alone = not alone
    return stretches


def is_companion(trial: Trial) -> bool:
    """Whether it runs for the others' sake: it is not measured."""
    return trial.stage is Stage.PROBE and trial.repeat > ROUNDS


def _proposal(
    ledger: Ledger, key: Key, repeat: int, *, alone: bool, stage: Stage = Stage.PROBE
) -> Proposal:
    return Proposal(
        config=config_of(ledger.problem, key),
        budget=ledger.problem.budget,
        stage=stage,
        repeat=repeat,
        alone=alone,
    )
