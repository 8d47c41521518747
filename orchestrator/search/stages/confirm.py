"""The confirm stage: the finalists and the baseline once more, in rounds."""

import random
from collections import defaultdict
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from statistics import fmean
from typing import Final

from orchestrator.formats import counted
from orchestrator.kernel.problem import Key, key_of
from orchestrator.kernel.search import ComparedRun, Pause, PlannedStage, Proposal
from orchestrator.search.stages.judge import Config, Judge, Results
from orchestrator.search.stages.sequence import Ledger, Phase, at_most
from orchestrator.trial import Stage, TrialState

ROUNDS_IN_VAIN: Final = 3
"""Rounds in a row without a clean pair, after which an analysis ends the stage."""


@dataclass(kw_only=True, eq=False)
class Confirming(Phase):
    """Confirm runs, on which the claimed speed-up rests.

    Once all trials have ended the judge names the finalists, the selected one first. They and the
    baseline run in rounds, isolated: interleaved on the same cores where possible, so that
    disturbances affect all alike, otherwise one after another in random order. On several nodes the
    rounds up to the next analysis are side by side.

    The rounds end at an interim analysis with sufficient results, or after the last one. The
    recommended config then runs once more; only this run evaluates the test split.

    A config that is infeasible, or never completes up to the first analysis, is not run again. The
    runs end at the first analysis if nothing can be compared with the baseline. Rounds that a
    budget has no room for are left out; without room for the first analysis there are none. If the
    search continues later, new finalists run in new rounds, and the same ones resume.

    Attributes:
        analyses: Numbers of rounds after which the stage may end, ascending.
        judge: Names the finalists, decides when they suffice, and recommends.
        finalists: Most of them, the baseline not counted.
        may_interleave: Returns True if runs of these configs may be interleaved, by the results so
            far. None: they never are.
        run: Of those that are compared. The test run is whole.
        side_by_side: True where several nodes run trials.
        allowance: Most core-time of confirm runs, as a share of the core-time of all runs before
            them. Rounds beyond the first analysis end where there is no room for another one and
            the test run. Default: no limit.
    """

    analyses: Sequence[int]
    judge: Judge
    finalists: int = 2
    may_interleave: Callable[[Sequence[Config], Results], bool] | None = None
    run: ComparedRun = field(default_factory=ComparedRun)
    side_by_side: bool = False
    allowance: float | None = None
    _configs: Sequence[Config] = field(default=(), init=False)

    after_early_end = True
    _num_finalists = _num_rounds = _next_repeat = 0

    def planned(self, num_configs: int | None) -> Sequence[PlannedStage]:
        """Return the runs that are compared, then the test run.

        At least the selected config and the baseline run up to the first analysis, at most all
        finalists up to the last one.
        """
        configs = at_most(num_configs, 1 + self.finalists)
        first, last = self.analyses[0], self.analyses[-1 if configs > 1 else 0]
        others = f", up to {counted(configs - 2, 'contender')}" if configs > 2 else ""
        runs = f"{first} to {last} runs" if last > first else counted(first, "run")
        how = "interleaved on the same cores where possible" if self.may_interleave else "in pairs"
        compared = PlannedStage(
            name="confirm",
            least=at_most(num_configs, 2) * first,
            most=configs * last,
            share_of_trial=self.run.share,
            least_s=self.run.least_s,
            isolated=True,
            text=f"the selected config and the baseline{others}, {runs} each, {how}",
            stage=Stage.CONFIRM,
        )
        text = "what is recommended, once, with the test split"
        return [compared, replace(compared, least=1, most=1, share_of_trial=1.0, text=text)]

    def trials(self, ledger: Ledger) -> Iterator[Proposal | Pause]:
        """Yield the rounds, then the test run."""
        yield from ledger.wait()
        before, self._configs = self._configs, self._to_compare(ledger)
        if len(self._configs) != len(before) or any(c not in before for c in self._configs):
            self._num_rounds = 0
        while configs := self._of_next_round(ledger):
            if not (number := self._num_with_room(configs, ledger)):
                if not self._num_rounds:
                    return
                break
            for _ in range(number):
                yield from self._round(configs, ledger)
            yield from ledger.wait()
        yield from self._test(ledger)

    def go_on(self, trials: int | None) -> None:
        """Name the finalists anew; a round that was broken off stays so."""
        self._flow = None

    def _to_compare(self, ledger: Ledger) -> list[Config]:
        """Return the finalists in their canonical form, then the baseline if it is none of them."""
        canonical = ledger.problem.canonical
        judged = self.judge.finalists(ledger.results, most=self.finalists)
        finalists = [dict(canonical(config)) for config in judged]
        baseline = dict(ledger.problem.baseline)
        added = [baseline] if finalists and baseline not in finalists else []
        self._num_finalists = len(finalists)
        return [*finalists, *added]

    def _of_next_round(self, ledger: Ledger) -> list[Config]:
        """Return the configs that are worth another run; none at the end of the rounds."""
        configs = [config for config in self._configs if not self._is_lost(config, ledger)]
        has_finalist = any(config in configs for config in self._configs[: self._num_finalists])
        if not has_finalist or self._num_rounds >= self.analyses[-1]:
            return []
        if self._num_rounds in self.analyses:
            is_alone = len(configs) == 1 or dict(ledger.problem.baseline) not in configs
            if is_alone or self.judge.is_decided(ledger.results) or self._is_in_vain(ledger):
                return []
        return configs

    def _is_lost(self, config: Config, ledger: Ledger) -> bool:
        """Return True if it is infeasible, or no run completed up to the first analysis."""
        runs = [(t.stage, r.state) for t, r in ledger.results if dict(t.config) == config]
        confirmed = [state for stage, state in runs if stage is Stage.CONFIRM]
        never = TrialState.COMPLETED not in confirmed and len(confirmed) >= self.analyses[0]
        return never or any(state is TrialState.INFEASIBLE for _, state in runs)

    def _is_in_vain(self, ledger: Ledger) -> bool:
        """Return True if other load left no clean pair in the last rounds, and note it."""
        baseline = dict(ledger.problem.baseline)
        confirmed = [(t, r) for t, r in ledger.results if t.stage is Stage.CONFIRM]
        for repeat in range(self._next_repeat - ROUNDS_IN_VAIN, self._next_repeat):
            of_round = [(dict(t.config), r) for t, r in confirmed if t.repeat == repeat]
            clean = [config for config, result in of_round if not result.disturbed]
            if len(of_round) == len(clean) or (baseline in clean and len(clean) > 1):
                return False
        ledger.notes.append(
            f"the confirm stage ended after {self._num_rounds} rounds, undecided: other load "
            f"contaminated the last {ROUNDS_IN_VAIN}"
        )
        return True

    def _num_with_room(self, configs: Sequence[Config], ledger: Ledger) -> int:
        """Return the rounds to ask for now that there is room for; none at the end of the stage.

        Up to the first analysis there is room for all rounds or for none.
        """
        first = self.analyses[0]
        later = (number for number in self.analyses if number > self._num_rounds)
        number = next(later) - self._num_rounds if self.side_by_side else 1
        if 0 < self._num_rounds < first:
            return number
        is_first = not self._num_rounds
        while not is_first and number and not self._is_allowed([*configs] * number, ledger):
            number -= 1
        if not number:
            ledger.notes.append(
                f"the confirm stage ended after {self._num_rounds} rounds, undecided: it has had "
                "its share of the search's time"
            )
            return 0
        num_whole = 0 if self.run.budget is not None else first if is_first else number
        # The last one is the test run.
        runs = [*configs] * num_whole + [configs[0]]
        return number if ledger.may_start(runs, kept_back=is_first) else 0

    def _is_allowed(self, configs: Sequence[Config], ledger: Ledger) -> bool:
        """Return True if the allowance has room for another round and the test run.

        A run lasts as long as those before, the test run as its config's own training or else the
        longest one: with all parts of a curve that was paused.
        """
        if self.allowance is None:
            return True
        compared, spent, before = list[float](), 0.0, 0.0
        curves, ended = defaultdict[tuple[Key, int], float](float), set[tuple[Key, int]]()
        for trial, result in ledger.results:
            core_s = (result.wall_s or 0.0) * (result.cores or 1)
            if trial.stage is Stage.CONFIRM:
                spent += core_s
                compared += [] if trial.evaluate_test else [core_s]
                continue
            before += core_s
            if trial.stage is Stage.TRAIN:
                curve = key_of(ledger.problem, trial.config), trial.repeat
                curves[curve] += core_s
                ended |= {curve} if result.state is TrialState.COMPLETED else set()
        tested = key_of(ledger.problem, configs[0])
        own = [curves[curve] for curve in ended if curve[0] == tested]
        whole = fmean(own) if own else max((curves[curve] for curve in ended), default=0.0)
        return spent + len(configs) * fmean(compared) + whole <= self.allowance * before

    def _round(self, configs: Sequence[Config], ledger: Ledger) -> Iterator[Proposal | Pause]:
        repeat = self._next_repeat
        self._num_rounds += 1
        self._next_repeat += 1
        may = self.may_interleave
        interleaved = may is not None and len(configs) > 1 and may(configs, ledger.results)
        budget = self.run.budget or ledger.problem.budget
        rng = random.Random(f"confirm {repeat} of {ledger.problem.seed}")
        for config in rng.sample(configs, len(configs)):
            if not (interleaved or self.side_by_side):
                yield from ledger.wait()
            yield ledger.run(config, Stage.CONFIRM, repeat, budget=budget, interleaved=interleaved)

    def _test(self, ledger: Ledger) -> Iterator[Proposal | Pause]:
        """Yield the run of what is recommended, unless its test run has completed."""
        config = self.judge.recommended(ledger.results) if self._configs else None
        if config is None:
            return
        canonical = dict(ledger.problem.canonical(config))
        tested = [
            dict(trial.config)
            for trial, result in ledger.results
            if trial.evaluate_test and result.state is TrialState.COMPLETED
        ]
        if canonical not in tested:
            # In a round without a partner: it takes no part in what is claimed.
            self._next_repeat += 1
            yield ledger.run(canonical, Stage.CONFIRM, self._next_repeat - 1, evaluate_test=True)
            yield from ledger.wait()
