"""The interference check: the speed of trials with background trials on the other cores.

A few configs are trained isolated and co-located, in alternation::

    round 1   isolated: A B     co-located: A B
    round 2   co-located: B A   isolated: B A
    round 3   isolated: A B     co-located: A B

Background trials are ordinary trials of the same configs and are not compared. They start first
and are replaced as they end, so that a co-located run has them from start to end. With two configs
and a noise of 3 % the check finds an effect of 6 % in 80 of 100 cases
(``benchmarks/results/interference_simulated_2026-11-25.md``).
"""

import random
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from itertools import count
from typing import Final

from orchestrator.formats import counted
from orchestrator.kernel.problem import Key, config_of, key_of
from orchestrator.kernel.search import WAIT, Pause, PlannedStage, Proposal
from orchestrator.search.stages.judge import Judge
from orchestrator.search.stages.sequence import Ledger, Phase, at_most
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
    _left: list[Proposal] = field(default_factory=list, init=False)
    """Runs that are compared and have not ended; the first one runs or is next."""

    _is_out = _background_failed = False

    def planned(self, num_configs: int | None) -> Sequence[PlannedStage]:
        """Return the runs that are compared; background trials, and what may be trained again."""
        if at_most(num_configs, 2) < 2:
            return ()
        configs = at_most(num_configs, self.num_configs)
        compared = 2 * ROUNDS * configs
        again = at_most(num_configs, self.num_before)
        runs = PlannedStage(
            name="check",
            least=compared,
            most=compared,
            isolated=True,
            text=f"{counted(configs, 'config')}, {ROUNDS} runs each isolated and {ROUNDS} with "
            "background trials on the other cores, in alternation",
            stage=Stage.PROBE,
        )
        more = compared * (self.capacity - 1) + again
        text = "background trials; if their speeds differ, what is trained again isolated"
        return [runs, replace(runs, least=0, most=more, isolated=False, text=text)]

    def trials(self, ledger: Ledger) -> Iterator[Proposal | Pause | None]:
        """Yield the runs of the check, then what must be trained once more."""
        yield from ledger.wait()
        keys, numbers = self._chosen(ledger), count()
        self._left = self._planned(keys, ledger)
        ahead, others = 0, self.capacity - 1
        while self._left:
            run = self._left[0]
            # A node with less room than expected gets no endless row of background trials.
            may_ask = not run.isolated and (self._is_out or ahead < others)
            if may_ask and ledger.num_out - self._is_out < others:
                number, ahead = next(numbers), ahead + 1
                config = config_of(ledger.problem, keys[number % len(keys)])
                yield ledger.run(config, Stage.PROBE, ROUNDS + 1 + number, isolated=False)
            elif self._is_out or (run.isolated and ledger.num_out):
                yield WAIT
            else:
                self._is_out, ahead = True, 0
                yield run
        yield from ledger.wait()
        ledger.notes += [BACKGROUND_FAILED] if self._background_failed else []
        yield from self._to_train_again(ledger)

    def tell(self, trial: Trial, result: TrialResult) -> None:
        """Take note of the end of a run, and of a background trial that cannot run."""
        if not _is_background(trial):
            self._is_out = False
            del self._left[:1]
        elif result.state in (TrialState.FAILED, TrialState.INFEASIBLE):
            self._background_failed = True
            self._left = []

    def should_stop(self, trial: Trial, report: Report) -> bool:
        """Return True for a background trial once the next run is isolated, or there is none."""
        return _is_background(trial) and (not self._left or self._left[0].isolated)

    def _planned(self, keys: Sequence[Key], ledger: Ledger) -> list[Proposal]:
        """Return all runs that are compared, in order.

        The way that comes first alternates, so that a machine which slows down meets both alike.
        """
        seed = ledger.problem.seed
        isolated_first = random.Random(f"interference of {seed}").random() < 0.5
        runs = []
        for number in range(1, ROUNDS + 1):
            rng = random.Random(f"interference {number} of {seed}")
            order = [config_of(ledger.problem, key) for key in rng.sample(keys, len(keys))]
            first = isolated_first == (number % 2 == 1)
            for isolated in (first, not first):
                runs += [ledger.run(c, Stage.PROBE, number, isolated=isolated) for c in order]
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
