"""The confirm stage: the finalists and the baseline once more, in rounds."""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from typing import Final

from orchestrator.formats import counted, percent
from orchestrator.kernel.search import Pause, PlannedStage, Proposal
from orchestrator.search.stages.judge import Config, InterimAnalyses, Judge, Results
from orchestrator.search.stages.repeats import has_room
from orchestrator.search.stages.sequence import Ledger, Phase, Scope
from orchestrator.trial import Budget, Stage, Trial, TrialResult, TrialState

MayInterleave = Callable[[Sequence[Config], Results], bool]
"""Returns True if trials of these configs may be interleaved, given the results so far."""

ROUNDS_IN_VAIN: Final = 3
"""Rounds in a row without a clean pair, after which an analysis ends the stage."""

MAX_TEST_RUNS: Final = 2
"""Runs that may evaluate the test split: one more where the first does not complete."""


@dataclass(frozen=True, kw_only=True)
class FirstRounds:
    """The confirm stage up to its first interim analysis; the test run follows.

    Attributes:
        rounds: Runs of each config; 0: no such stage.
        share: Most time of a run that is compared, as a fraction of a whole training's.
        finalists: Most configs in it, the baseline left out.
    """

    rounds: int = 0
    share: float = 1.0
    finalists: int = 1


@dataclass(kw_only=True, eq=False)
class Confirming(Phase):
    """Confirm runs, on which the claimed speed-up rests.

    Once all trials have ended the judge names the finalists, the selected one first. They and the
    baseline run in rounds, isolated: interleaved on the same cores where possible, so that
    disturbances affect all alike, otherwise one after another in random order.

    The rounds end at an interim analysis whose results suffice, or after the last one. The
    recommended config then runs once more; only this run evaluates the test split.

    A config that is infeasible, or never completes up to the first analysis, is not run again. The
    runs end at the first analysis if nothing can be compared with the baseline. Rounds that a
    budget has no room for are left out; without room for the first analysis there are none. If the
    search continues later, new finalists run in new rounds, and the same ones resume.

    Attributes:
        analyses: Numbers of rounds after which the stage may end.
        judge: Names the finalists, decides when they suffice, and recommends.
        finalists: Most of them, the baseline not counted.
        may_interleave: Returns True if these configs may be interleaved. None: they never are.
        budget: Of the runs that are compared. Default: a whole training. The test run is whole.
        share: Time of such a run, as a fraction of a whole training's, as far as is known.
        allowance: Core-time that confirm runs may take, as a share of that of all runs before
            them. Rounds beyond the first analysis are left out where there is no room for them and
            the test run. Default: they are not limited.
    """

    analyses: InterimAnalyses
    judge: Judge
    finalists: int = 2
    may_interleave: MayInterleave | None = None
    budget: Budget | None = None
    share: float = 1.0
    allowance: float | None = None
    _configs: Sequence[Config] = field(default=(), init=False)

    after_cut = True
    _num_finalists = _num_rounds = _next_repeat = 0
    _were_interleaved = False

    def first_rounds(self, scope: Scope) -> FirstRounds:
        """Return the rounds up to the first analysis, with as many finalists as there may be."""
        return FirstRounds(
            rounds=self.analyses.at[0],
            share=self.share,
            finalists=scope.at_most(1 + self.finalists) - 1,
        )

    def planned(self, scope: Scope) -> Sequence[PlannedStage]:
        """Return the runs that are compared, then the test run.

        At least the selected config and the baseline run up to the first analysis, at most all
        finalists up to the last one.
        """
        first, last = self.analyses.at[0], self.analyses.at[-1]
        configs = scope.at_most(1 + self.finalists)
        least, most = scope.at_most(2) * first, configs * (last if configs > 1 else first)
        share = f" of about {percent(self.share)} of a whole training" if self.share < 1 else ""
        how = "interleaved on the same cores where possible" if self.may_interleave else "in pairs"
        lines = [
            f"{least + 1} trials: the selected config and the baseline, "
            f"{counted(first, 'run')} each{share}, {how} and isolated; "
            "then what is recommended, once, with the test split"
        ]
        if most > least:
            more = []
            if configs > 2:
                more.append(f"up to {counted(configs - 2, 'contender')} of the selected config")
            if last > first:
                more.append(f"up to {last} runs each while they do not decide")
            lines.append(f"up to {most + 1}: {', and '.join(more)}")
        compared = PlannedStage(
            name="confirm", least=least, most=most, share_of_trial=self.share, isolated=True,
            lines=lines, stage=Stage.CONFIRM,
        )  # fmt: skip
        tested = replace(compared, least=1, most=1, share_of_trial=1.0, lines=(), tests=True)
        return [compared, tested]

    def trials(self, ledger: Ledger) -> Iterator[Proposal | Pause]:
        """Yield the rounds, then the test run, once more where it does not complete."""
        yield from ledger.wait()
        before, self._configs = self._configs, self._to_compare(ledger)
        if len(self._configs) != len(before) or any(c not in before for c in self._configs):
            self._num_rounds = 0
        while not self._is_over(ledger):
            if not self._has_room(ledger):
                if not self._num_rounds:
                    return
                break
            yield from self._round(ledger)
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

    def _able(self, configs: Sequence[Config], ledger: Ledger) -> list[Config]:
        """Return those of them that are worth another run."""
        return [config for config in configs if not self._is_lost(config, ledger)]

    def _is_lost(self, config: Config, ledger: Ledger) -> bool:
        """Return True if it is infeasible, or no run completed up to the first analysis."""
        runs = [(t.stage, r.state) for t, r in ledger.results if dict(t.config) == config]
        confirmed = [state for stage, state in runs if stage is Stage.CONFIRM]
        never = TrialState.COMPLETED not in confirmed and len(confirmed) >= self.analyses.at[0]
        return never or any(state is TrialState.INFEASIBLE for _, state in runs)

    def _is_over(self, ledger: Ledger) -> bool:
        configs = self._configs
        finalists = self._able(configs[: self._num_finalists], ledger)
        if not finalists or self._num_rounds >= self.analyses.at[-1]:
            return True
        if self._num_rounds not in self.analyses.at:
            return False
        compared = self._able(configs, ledger)
        has_baseline = dict(ledger.problem.baseline) in compared
        if not has_baseline or len(compared) == 1 or self.judge.is_decided(ledger.results):
            return True
        return self._is_in_vain(ledger)

    def _is_in_vain(self, ledger: Ledger) -> bool:
        """Return True if other load left no clean pair in the last rounds, and note it."""
        baseline = dict(ledger.problem.baseline)
        confirmed = [(t, r) for t, r in ledger.results if t.stage is Stage.CONFIRM]
        for repeat in range(self._next_repeat - ROUNDS_IN_VAIN, self._next_repeat):
            of_round = [(dict(t.config), r) for t, r in confirmed if t.repeat == repeat]
            clean = [config for config, result in of_round if not result.contaminated]
            if len(of_round) == len(clean) or (baseline in clean and len(clean) > 1):
                return False
        ledger.notes.append(
            f"the confirm stage ended after {self._num_rounds} rounds, undecided: other load "
            f"contaminated the last {ROUNDS_IN_VAIN}"
        )
        return True

    def _has_room(self, ledger: Ledger) -> bool:
        """Return True if there is room for another round; up to the first analysis for all."""
        first, configs = self.analyses.at[0], self._able(self._configs, ledger)
        if 0 < self._num_rounds < first:
            return True
        is_first = not self._num_rounds
        if not is_first and not self._is_allowed(configs, ledger):
            return False
        compared = configs * (first if is_first else 1) if self.budget is None else []
        # The last one is the test run.
        return ledger.may_start([*compared, configs[0]], kept_back=is_first)

    def _is_allowed(self, configs: Sequence[Config], ledger: Ledger) -> bool:
        """Return True if the allowance has room for another round; note where it has not."""
        if self.allowance is None:
            return True
        if has_room(ledger, self.allowance, short=configs, whole=configs[:1]):
            return True
        ledger.notes.append(
            f"the confirm stage ended after {self._num_rounds} rounds, undecided: it has had its "
            "share of the search's time"
        )
        return False

    def _round(self, ledger: Ledger) -> Iterator[Proposal | Pause]:
        repeat, configs = self._next_repeat, self._able(self._configs, ledger)
        self._num_rounds += 1
        self._next_repeat += 1
        interleaved = len(configs) > 1 and self._interleaves(configs, ledger)
        budget = self.budget or ledger.problem.budget
        rng = random.Random(f"confirm {repeat} of {ledger.problem.seed}")
        for config in rng.sample(configs, len(configs)):
            if not interleaved:
                yield from ledger.wait()
            yield ledger.run(config, Stage.CONFIRM, repeat, budget=budget, interleaved=interleaved)

    def _interleaves(self, configs: Sequence[Config], ledger: Ledger) -> bool:
        """Return True if a round of these configs is interleaved; note once they no longer are."""
        may = self.may_interleave is not None and self.may_interleave(configs, ledger.results)
        if self._were_interleaved and not may:
            ledger.notes.append(
                "confirm runs are no longer interleaved, one runs after another: an interleaved "
                "one did not complete, or together they no longer fit into half of the memory"
            )
        self._were_interleaved = may
        return may

    def _test(self, ledger: Ledger) -> Iterator[Proposal | Pause]:
        """Yield the run of what is recommended, unless its test run has completed."""
        config = self.judge.recommended(ledger.results) if self._configs else None
        if config is None:
            return
        canonical = dict(ledger.problem.canonical(config))
        for trial, result in ledger.results:
            if _has_tested(trial, result) and dict(trial.config) == canonical:
                return
        for _ in range(MAX_TEST_RUNS):
            # A round of its own: it has no partner and takes no part in what is claimed.
            self._next_repeat += 1
            yield ledger.run(canonical, Stage.CONFIRM, self._next_repeat - 1, evaluate_test=True)
            yield from ledger.wait()
            trial, result = ledger.results[-1]
            if not trial.evaluate_test or _has_tested(trial, result):
                return


def _has_tested(trial: Trial, result: TrialResult) -> bool:
    return trial.evaluate_test and result.state is TrialState.COMPLETED
