"""More runs where they help: repeats of the best configs.

And a confirm stage in proportion to its search.
"""

from __future__ import annotations

import random
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from statistics import fmean
from typing import Final

from orchestrator.kernel.problem import Key, config_of, key_of
from orchestrator.kernel.search import Pause, PlannedStage, Proposal
from orchestrator.search.stages.judge import Config, Judge
from orchestrator.search.stages.sequence import Ledger, Phase, Scope
from orchestrator.trial import Stage, TrialResult, TrialState

MAX_CONTENDERS: Final = 3
"""Configs repeated together with the best one: the nearest of its near-ties."""


@dataclass(kw_only=True, eq=False)
class Repeating(Phase):
    """Rounds of repeats.

    Once all trials have ended the judge names the configs of which one more run would help to
    find the best. Each runs once, in random order; then the judge is asked again, until it names
    none or there were as many repeats as planned.

    Attributes:
        runs: Runs of each config by the search.
        max_runs: Runs that a config has at most, those of the search included.
        judge: Names the configs.
    """

    runs: int
    max_runs: int
    judge: Judge
    _num_rounds = _num_repeats = 0

    def planned(self, scope: Scope) -> Sequence[PlannedStage]:
        """Return the most repeats; none of a sole config."""
        configs, more = scope.at_most(1 + MAX_CONTENDERS), self.max_runs - self.runs
        if configs < 2 or more < 1:
            return ()
        most = configs * more
        line = (
            f"up to {most} more: the best config and up to {MAX_CONTENDERS} that the "
            f"measurements do not separate from it, until each has {self.max_runs} runs"
        )
        return [PlannedStage(name="repeats", least=0, most=most, lines=[line])]

    def trials(self, ledger: Ledger) -> Iterator[Proposal | Pause | None]:
        """Yield the repeats round by round, None after a round without any."""
        while True:
            yield from ledger.wait()
            keys = self._next_round(ledger)
            for key in keys:
                config, repeat = config_of(ledger.problem, key), ledger.num_asked[key]
                yield ledger.run(config, Stage.TRAIN, repeat, isolated=False)
            if not keys:
                yield None

    def go_on(self, trials: int | None) -> None:
        """Ask the judge again: there are more configs."""
        self._num_repeats = 0

    def _next_round(self, ledger: Ledger) -> list[Key]:
        configs = self.judge.to_repeat(ledger.results, max_runs=self.max_runs)
        named = [key_of(ledger.problem, config) for config in configs]
        # A run that failed counts: what never completes must not be repeated for ever.
        keys = [key for key in named if ledger.num_asked[key] < self.max_runs]
        most = (1 + MAX_CONTENDERS) * (self.max_runs - self.runs)
        keys = keys[: max(most - self._num_repeats, 0)]
        self._num_repeats += len(keys)
        self._num_rounds += 1
        random.Random(f"repeats {self._num_rounds} of {ledger.problem.seed}").shuffle(keys)
        return keys


# -- a confirm stage in proportion to its search


def has_room(
    ledger: Ledger, share: float, *, short: Sequence[Config] = (), whole: Sequence[Config] = ()
) -> bool:
    """Return True if there is room for short runs and whole trainings of these configs.

    The core-time of confirm runs may be a ``share`` of that of all runs before them.
    """
    spent = sum(_core_s(r) for t, r in ledger.results if t.stage is Stage.CONFIRM)
    before = sum(_core_s(r) for t, r in ledger.results if t.stage is not Stage.CONFIRM)
    asked = len(short) * _short_s(ledger) + sum(_whole_s(ledger, each) for each in whole)
    return spent + asked <= share * before


def _core_s(result: TrialResult) -> float:
    return (result.wall_s or 0.0) * (result.cores or 1)


def _short_s(ledger: Ledger) -> float:
    """Return the mean core-time of a short run: of those that confirm, else of the probes."""
    for stage in (Stage.CONFIRM, Stage.PROBE):
        times = [
            _core_s(result)
            for trial, result in ledger.results
            if trial.stage is stage and not trial.budget.evaluated
        ]
        if times:
            return fmean(times)
    return 0.0


def _whole_s(ledger: Ledger, config: Config) -> float:
    """Return the core-time of a whole training: of this config's, else of the longest one.

    A curve that was paused counts with all of its parts.
    """
    curves: dict[tuple[str, int], float] = {}
    ended: list[tuple[str, int]] = []
    for trial, result in ledger.results:
        if trial.stage is Stage.TRAIN:
            curve = repr(sorted(trial.config.items())), trial.repeat
            curves[curve] = curves.get(curve, 0.0) + _core_s(result)
            if result.state is TrialState.COMPLETED:
                ended.append(curve)
    own = [curves[curve] for curve in ended if curve[0] == repr(sorted(config.items()))]
    return fmean(own) if own else max((curves[curve] for curve in ended), default=0.0)
