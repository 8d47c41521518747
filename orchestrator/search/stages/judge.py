"""The judge, which answers the stages' questions from the analysis; the repeats that it names.

The interim analyses of the confirm stage are fixed beforehand, so that the intervals at all of them
together have 95 % confidence, whichever the stage ends at (repeated confidence intervals: Jennison
and Turnbull, "Interim analyses: the repeated confidence interval approach", Journal of the Royal
Statistical Society B 51, 1989; their level: :mod:`orchestrator.analysis.statistics.rounds`).
"""

import random
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

from orchestrator.kernel.problem import Key, config_of, key_of
from orchestrator.kernel.search import Pause, PlannedStage, Proposal, Search
from orchestrator.search.stages.sequence import Ledger, Phase, at_most
from orchestrator.trial import Stage, Trial, TrialResult

Config = Mapping[str, Any]

Results = Sequence[tuple[Trial, TrialResult]]
"""Trials with their results, in the order in which they ended."""


class Judge:
    """Decides from results so far. The same results always give the same answer.

    By default it names no config.
    """

    def follow(self, search: Search) -> None:
        """Take the knobs' roles from ``search`` from here on, as far as it has checked them."""

    def finalists(self, results: Results, *, most: int) -> Sequence[Config]:
        """Return the config to confirm, then its contenders; empty where none will do."""
        return ()

    def to_repeat(self, results: Results, *, max_runs: int) -> Sequence[Config]:
        """Return the configs that need one more run to find the best."""
        return ()

    def is_decided(self, results: Results) -> bool:
        """Return True if the confirm runs need not be extended.

        They show by what factor the selected config is faster or slower than the baseline, or that
        the two are equally fast.
        """
        return True

    def recommended(self, results: Results) -> Config | None:
        """Return the config that all results recommend, confirm runs included, or None."""
        return None

    def interference(self, results: Results) -> str:
        """Return the effect of background trials on speed, a sentence; empty if none is shown."""
        return ""


# -- repeats

MAX_CONTENDERS: Final = 3
"""Configs repeated together with the best one: the nearest of its near-ties."""


@dataclass(kw_only=True, eq=False)
class Repeating(Phase):
    """Rounds of repeats.

    Once all trials have ended the judge names the configs that need one more run to find the best.
    Each runs once, in random order; then the judge is asked again, until it names none or there
    were as many repeats as planned.

    Attributes:
        runs: Runs of each config by the search.
        max_runs: Most runs of a config, with those of the search.
        judge: Names the configs.
    """

    runs: int
    max_runs: int
    judge: Judge
    _num_rounds = _num_repeats = 0

    def planned(self, num_configs: int | None) -> Sequence[PlannedStage]:
        """Return the most repeats; none of a sole config."""
        configs, more = at_most(num_configs, 1 + MAX_CONTENDERS), self.max_runs - self.runs
        if configs < 2 or more < 1:
            return ()
        most = configs * more
        text = (
            f"the best config and up to {MAX_CONTENDERS} that the measurements do not separate "
            f"from it, until each has {self.max_runs} runs"
        )
        return [PlannedStage(name="repeats", least=0, most=most, text=text)]

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


# -- interim analyses

GROWTH: Final = 1.8
"""Ratio of the runs at an analysis to those at the one before: 3, 5, 9, 16."""


@dataclass(frozen=True, kw_only=True)
class InterimAnalyses:
    """Analyses of a comparison that is extended until it decides.

    Attributes:
        first: Pairs of runs at the first analysis.
        last: Pairs at the last one; ``first`` where that is more.
    """

    first: int
    last: int

    @property
    def at(self) -> tuple[int, ...]:
        """Pairs of runs at each analysis, ascending."""
        before_last, num = [], self.first
        while num < self.last:
            before_last.append(num)
            num = max(num + 1, round(GROWTH * num))
        return (*before_last, max(self.first, self.last))
