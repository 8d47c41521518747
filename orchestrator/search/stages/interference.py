"""Whether trials that run beside others are as fast as alone: a few configs, both ways in turn."""

from __future__ import annotations

import random
from collections.abc import Sequence
from typing import Final

from orchestrator.search.base import WAIT, Pause, Proposal
from orchestrator.search.candidates import Key, config_of, key_of
from orchestrator.search.stages.interference_rounds import Companions, InTurns, Round, Stretch
from orchestrator.search.stages.interleaving import InterleavedOrNot, MayInterleave, never
from orchestrator.search.stages.judge import Judge
from orchestrator.search.stages.sequence import FullBudget, Ledger
from orchestrator.trial import Report, Stage, Trial, TrialResult, TrialState

ROUNDS: Final = 3
"""In each of them every config runs alone and beside others. Of two configs that makes six
differences, each between runs that take turns or follow each other."""

NO_COMPANY: Final = (
    "a trial that was to be company for others did not train: what trials lose beside others is "
    "not looked at any more"
)
"""What is said where the check ends before its time."""


class InterferenceCheck(FullBudget):
    """Runs a few configs alone and beside others, in rounds.

    Where they may, all of a round take turns on the same cores, and only in the turns of those
    that are not to be alone the rest of the node is filled with copies of these configs. Else the
    two ways follow each other, and which comes first takes turns: what the machine does meanwhile,
    becoming slower for one, meets both alike.

    Where a companion fails the check ends with that round: nobody would be beside anybody.

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
        may_interleave: Whether these configs, each as often as it is named, may; default: never.
    """

    def __init__(
        self,
        *,
        num_configs: int,
        at_once: int,
        speed: str,
        judge: Judge,
        may_interleave: MayInterleave = never,
    ) -> None:
        self._num_configs = num_configs
        self._metric = speed
        self._judge = judge
        self._turns = InterleavedOrNot("runs alone and beside others", may_interleave)
        self._companions = Companions(at_once, ROUNDS)
        self._rounds_left: list[int] | None = None
        self._keys: Sequence[Key] = ()
        self._parts: list[Round] = []
        self._again: list[tuple[Key, int]] | None = None

    def ask(self, ledger: Ledger) -> Proposal | Pause | None:
        """The next run of this round; at the end what must be trained once more."""
        if self._rounds_left is None:
            if ledger.num_out:
                return WAIT
            self._keys = self._chosen(ledger)
            self._rounds_left = list(range(1, ROUNDS + 1)) if self._keys else []
        while self._parts or self._rounds_left:
            if not self._parts:
                if self._companions.have_failed:
                    break
                self._parts = self._parts_of(self._rounds_left.pop(0), ledger)
            asked = self._parts[0].ask(ledger)
            if asked is not None:
                return asked
            self._parts.pop(0)
        if self._again is None:
            ledger.notes += [NO_COMPANY] if self._companions.have_failed else []
            self._again = self._to_train_again(ledger)
        if self._again:
            key, repeat = self._again.pop(0)
            return _proposal(ledger, key, repeat, isolated=True, stage=Stage.TRAIN)
        return None

    def tell(self, trial: Trial, result: TrialResult) -> None:
        """Remembers what is still out."""
        if trial.stage is not Stage.PROBE:
            return
        if trial.companion:
            self._companions.tell(result)
        else:
            self._parts[0].tell(trial)

    def should_stop(self, trial: Trial, report: Report) -> bool:
        """Whether it keeps nobody company any more."""
        return trial.companion and not (self._parts and self._parts[0].needs_company)

    def _parts_of(self, number: int, ledger: Ledger) -> list[Round]:
        """A round in one part, or in two of which one is alone and the other is not."""
        rng = random.Random(f"company {number} of {ledger.problem.seed}")
        keys = rng.sample(list(self._keys), len(self._keys))
        begins_alone = random.Random(f"company of {ledger.problem.seed}").random() < 0.5
        first = begins_alone == (number % 2 == 1)
        ways = [
            [_proposal(ledger, key, number, isolated=isolated) for key in keys]
            for isolated in (first, not first)
        ]
        if self._takes_turns(ledger):
            return [InTurns([*ways[0], *ways[1]], self._companions, keys)]
        return [
            Stretch(measured, None if measured[0].isolated else self._companions, keys)
            for measured in ways
        ]

    def _takes_turns(self, ledger: Ledger) -> bool:
        """Whether a round that begins now is in turns."""
        companions = [self._keys[n % len(self._keys)] for n in range(self._companions.num_missed)]
        resident = [*self._keys, *self._keys, *companions]
        return self._turns.next_round([config_of(ledger.problem, key) for key in resident], ledger)

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
        found = self._judge.interference(ledger.results)
        if found is None or not found.is_shown:
            return []
        ledger.isolated = True
        ledger.notes.append(f"{found.text}: every trial runs alone from here on")
        return [
            (key_of(ledger.problem, trial.config), trial.repeat)
            for trial, result in ledger.results
            if trial.stage is Stage.TRAIN and result.state is not TrialState.INFEASIBLE
        ]


def _proposal(
    ledger: Ledger, key: Key, repeat: int, *, isolated: bool, stage: Stage = Stage.PROBE
) -> Proposal:
    return Proposal(
        config=config_of(ledger.problem, key),
        budget=ledger.problem.budget,
        stage=stage,
        repeat=repeat,
        isolated=isolated,
    )
