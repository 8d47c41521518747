"""The interference check: the speed of trials with background trials on the other cores.

A few configs are trained isolated and co-located, in alternation::

    round 1   isolated: A B     co-located: A B
    round 2   co-located: B A   isolated: B A
    round 3   isolated: A B     co-located: A B

Background trials are ordinary trials of the same configs, whose figures are not compared. They are
asked for first and replaced as they end, so that a co-located run has them from start to end. With
two configs and a noise of 3 % the check finds an effect of 6 % in 80 of 100 cases
(``benchmarks/results/interference_simulated_2026-11-25.md``).
"""

from __future__ import annotations

import random
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Final

from orchestrator.kernel.problem import Key, config_of, key_of
from orchestrator.kernel.search import WAIT, Pause, PlannedStage, Proposal
from orchestrator.search.stages.judge import Judge
from orchestrator.search.stages.sequence import Ledger, Phase, Scope
from orchestrator.trial import Report, Stage, Trial, TrialResult, TrialState

ROUNDS: Final = 3
"""Rounds of the check. Two configs give six differences, each within one round."""

BACKGROUND_FAILED: Final = (
    "a background trial of the interference check did not train: the check ends early"
)
"""The note for the user where the check ends before its last round."""


@dataclass(kw_only=True, eq=False)
class InterferenceCheck(Phase):
    """Trains a few configs isolated and co-located, in rounds.

    If the judge finds that their speeds differ, all later trials run isolated. Those that were
    trained co-located are trained once more; the search does not receive these results.

    Attributes:
        num_configs: Configs to train: the baseline, then others drawn by the seed. A config that
            was selected for its speed would look slower when it is run again.
        capacity: Trials that fill all nodes.
        num_before: Trials of the search that are trained before the check.
        speed: Metric that is compared; a config without it is not trained.
        judge: Compares.
    """

    num_configs: int
    capacity: int
    num_before: int
    speed: str
    judge: Judge
    _keys: Sequence[Key] = field(default=(), init=False)
    _left: list[Proposal] | None = field(default=None, init=False)
    _current: Proposal | None = field(default=None, init=False)
    _again: list[Proposal] | None = field(default=None, init=False)

    _num_background = _num_ahead = 0
    _background_failed = False

    def planned(self, scope: Scope) -> Sequence[PlannedStage]:
        """Return the runs that are compared; background trials, and what may be trained again."""
        if scope.at_most(2) < 2:
            return ()
        configs = scope.at_most(self.num_configs)
        compared = 2 * ROUNDS * configs
        again = min(self.num_before, sum(stage.least for stage in scope.searched))
        line = (
            f"{compared} trials: {configs} config{'s' * (configs > 1)}, {ROUNDS} runs each "
            f"isolated and {ROUNDS} with background trials on the other cores, in alternation; if "
            "their speeds differ, all trials run isolated from then on"
        )
        return [
            PlannedStage(
                name="check", least=compared, most=compared, isolated=True, lines=[line],
                stage=Stage.PROBE,
            ),
            PlannedStage(
                name="check", least=0, most=compared * (self.capacity - 1) + again,
                stage=Stage.PROBE,
            ),
        ]  # fmt: skip

    def ask(self, ledger: Ledger) -> Proposal | Pause | None:
        """Return the next run of the check, then what must be trained once more."""
        if self._left is None:
            if ledger.num_out:
                return WAIT
            self._keys = self._chosen(ledger)
            self._left = self._planned(ledger)
        if self._current or self._left:
            return self._next_run(self._left, ledger)
        if self._again is None:
            if ledger.num_out:
                return WAIT
            ledger.notes += [BACKGROUND_FAILED] if self._background_failed else []
            self._again = self._to_train_again(ledger)
        return self._again.pop(0) if self._again else None

    def tell(self, trial: Trial, result: TrialResult) -> None:
        """Take note of the end of a run, and of a background trial that cannot run."""
        if not _is_background(trial):
            self._current = None
        elif result.state in (TrialState.FAILED, TrialState.INFEASIBLE):
            self._background_failed = True
            self._left = []

    def should_stop(self, trial: Trial, report: Report) -> bool:
        """Return True for a background trial once the next run is isolated, or there is none."""
        run = self._current or (self._left[0] if self._left else None)
        return _is_background(trial) and (run is None or run.isolated)

    def _next_run(self, left: list[Proposal], ledger: Ledger) -> Proposal | Pause:
        run = self._current or left[0]
        num_missing = self.capacity - 1 - (ledger.num_out - (self._current is not None))
        # A node with less room than expected gets no endless row of background trials.
        may_ask = self._current is not None or self._num_ahead < self.capacity - 1
        if not (run.isolated or self._background_failed) and num_missing > 0 and may_ask:
            key = self._keys[self._num_background % len(self._keys)]
            self._num_background += 1
            self._num_ahead += 1
            config, number = config_of(ledger.problem, key), ROUNDS + self._num_background
            return ledger.run(config, Stage.PROBE, number, isolated=False)  # after the rounds
        if self._current or (run.isolated and ledger.num_out):
            return WAIT
        self._current, self._num_ahead = left.pop(0), 0
        return self._current

    def _planned(self, ledger: Ledger) -> list[Proposal]:
        """Return all runs that are compared, in order.

        The way that comes first alternates, so that a machine which slows down meets both alike.
        """
        seed = ledger.problem.seed
        isolated_first = random.Random(f"interference of {seed}").random() < 0.5
        runs = []
        for number in range(1, ROUNDS + 1):
            keys = random.Random(f"interference {number} of {seed}").sample(
                list(self._keys), len(self._keys)
            )
            first = isolated_first == (number % 2 == 1)
            for isolated in (first, not first):
                for config in (config_of(ledger.problem, key) for key in keys):
                    runs.append(ledger.run(config, Stage.PROBE, number, isolated=isolated))
        return runs

    def _chosen(self, ledger: Ledger) -> Sequence[Key]:
        """Return the baseline and some configs that completed; none where only one did."""
        completed = {
            key_of(ledger.problem, trial.config)
            for trial, result in ledger.results
            if trial.stage is Stage.TRAIN
            and result.state is TrialState.COMPLETED
            and self.speed in result.metrics
        }
        baseline = key_of(ledger.problem, ledger.problem.baseline)
        first = [baseline] * (baseline in completed)
        others = sorted(completed - set(first), key=repr)
        random.Random(f"interference configs of {ledger.problem.seed}").shuffle(others)
        return [*first, *others][: self.num_configs] if len(completed) > 1 else []

    def _to_train_again(self, ledger: Ledger) -> list[Proposal]:
        effect = self.judge.interference(ledger.results)
        if not effect:
            return []
        ledger.isolated = True
        ledger.notes.append(f"{effect}: every trial runs isolated from here on")
        last = {
            (key_of(ledger.problem, trial.config), trial.repeat): (trial.budget, result.state)
            for trial, result in ledger.results
            if trial.stage is Stage.TRAIN
        }
        return [
            ledger.run(config_of(ledger.problem, key), Stage.TRAIN, repeat, budget=budget)
            for (key, repeat), (budget, state) in last.items()
            if state is not TrialState.INFEASIBLE
        ]


def _is_background(trial: Trial) -> bool:
    return trial.stage is Stage.PROBE and trial.repeat > ROUNDS
