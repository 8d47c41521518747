"""Speeds of the settings as far as known, and the settings that may still be the fastest.

Successive elimination: a setting is out once it is slower than the best of its group by more
than chance explains (Even-Dar, Mannor and Mansour, "Action elimination and stopping conditions
for the multi-armed bandit and reinforcement learning problems", JMLR 7, 2006), here with a
spread that is estimated from all settings together.
"""

import math
from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from statistics import NormalDist, fmean
from typing import Final

from orchestrator.kernel.problem import Key
from orchestrator.search.factored.factors import Goals
from orchestrator.trial import TrialResult, TrialState

ASSUMED_SPREAD: Final = 0.03
"""Spread between runs of a config while none was run twice, as a fraction of the speed."""

ASSUMED_RUNS: Final = 4
"""Degrees of freedom that the assumption counts as, in addition to what was measured."""

_RAN: Final = (TrialState.COMPLETED, TrialState.STOPPED)
"""States of a run with a speed; a training that was paused is stopped."""

MAX_FAILURES: Final = 2
"""Probes of a setting that may fail before it is given up."""


@dataclass
class _Seen:
    own: list[float] = field(default_factory=list)
    rate: list[float] = field(default_factory=list)
    num_asked: int = 0
    is_clean: bool = False
    is_out: bool = False
    violates: bool = False
    metrics: dict[str, float] = field(default_factory=dict)


class Speeds:
    """Speeds of settings, from repeated short runs.

    Args:
        goals: What is looked for.
        num_comparisons: Decisions that share the level: settings times looks.
        level: Probability that any of them drops a setting wrongly.
    """

    def __init__(self, goals: Goals, num_comparisons: int, level: float) -> None:
        self._goals = goals
        self._z = NormalDist().inv_cdf(1 - level / max(num_comparisons, 1))
        self._seen: dict[Key, _Seen] = defaultdict(_Seen)
        self._all_have_own = True

    def add(self, setting: Key, result: TrialResult) -> None:
        """Take the result of a run; a disturbed one counts while there is no clean one."""
        seen = self._seen[setting]
        seen.num_asked += 1
        if result.state is TrialState.INFEASIBLE:
            seen.is_out = True
            return
        own, rate = self._goals.log_speeds(result)
        is_clean = not result.disturbed
        if result.state not in _RAN or (math.isnan(own) and math.isnan(rate)):
            return
        if is_clean > seen.is_clean:
            seen.own, seen.rate, seen.is_clean = [], [], True
        if is_clean == seen.is_clean:
            self._all_have_own &= not math.isnan(own)
            seen.own.append(own)
            seen.rate.append(rate)
            seen.metrics = dict(result.metrics)
            seen.violates = not self._goals.holds(result.metrics)

    def num_runs(self, setting: Key) -> int:
        """Return the number of runs that the speed is taken from."""
        return len(self._logs(setting))

    def num_asked(self, setting: Key) -> int:
        """Return the number of runs, however they ended."""
        return self._seen[setting].num_asked

    def mean(self, setting: Key) -> float:
        """Return the mean logarithm of the speed; minus infinity where there is none."""
        logs = self._logs(setting)
        return fmean(logs) if logs else -math.inf

    def samples_per_s(self, setting: Key) -> float:
        """Return the geometric mean of the rate, 1/s; NaN where there is none."""
        rates = _known(self._seen[setting].rate)
        return math.exp(fmean(rates)) if rates else math.nan

    def metrics(self, setting: Key) -> dict[str, float]:
        """Return the figures of the last completed run."""
        return self._seen[setting].metrics

    def is_out(self, setting: Key) -> bool:
        """Return True if the setting cannot run, or fails whenever it does."""
        seen = self._seen[setting]
        return seen.is_out or (not seen.own and seen.num_asked >= MAX_FAILURES)

    @property
    def spread(self) -> float:
        """Standard deviation between clean runs of a setting, pooled over all of them."""
        squares, degrees = ASSUMED_RUNS * ASSUMED_SPREAD**2, ASSUMED_RUNS
        for setting, seen in self._seen.items():
            logs = self._logs(setting)
            if seen.is_clean and len(logs) > 1:
                mean = fmean(logs)
                squares += sum((x - mean) ** 2 for x in logs)
                degrees += len(logs) - 1
        return math.sqrt(squares / degrees)

    def able(self, settings: Iterable[Key]) -> list[Key]:
        """Return those that can run and keep the conditions; all that can run if none does."""
        left = [each for each in settings if not self.is_out(each)]
        return [each for each in left if not self._seen[each].violates] or left

    def contenders(self, settings: Sequence[Key]) -> list[Key]:
        """Return the settings of a group that are not shown to be slower than its best."""
        able, spread = self.able(settings), self.spread
        best = max(able, key=self.mean, default=None)
        if best is None or not self.num_runs(best):
            return able
        return [each for each in able if not self.is_surely_slower(each, best, spread)]

    def ties(self, settings: Sequence[Key]) -> list[Key]:
        """Return the contenders within the tie margin of the fastest, the fastest first."""
        contenders = sorted(self.contenders(settings), key=self.mean, reverse=True)
        if not contenders or not self.num_runs(contenders[0]):
            return contenders
        least = self.mean(contenders[0]) + math.log1p(-self._goals.tie_margin)
        return [each for each in contenders if self.mean(each) >= least]

    def near(self, setting: Key, others: Iterable[Key]) -> list[Key]:
        """Return those within a standard error of the difference of speeds, the fastest first."""
        mean, spread = self.mean(setting), self.spread
        near = [
            other
            for other in others
            if abs(self.mean(other) - mean) <= self._error_between(setting, other, spread)
        ]
        return sorted(near, key=self.mean, reverse=True)

    def is_surely_slower(self, one: Key, other: Key, spread: float | None = None) -> bool:
        """Return True if ``one`` is shown to be slower than ``other``; ``spread`` is known."""
        if not self._seen[one].is_clean or not self.num_runs(other):
            return False
        threshold = self._z * self._error_between(one, other, spread or self.spread)
        return self.mean(other) - self.mean(one) > threshold

    def _error_between(self, one: Key, other: Key, spread: float) -> float:
        """Return the standard error of the difference of two means; infinity without a run."""
        counts = self.num_runs(one), self.num_runs(other)
        return spread * math.sqrt(sum(1 / n for n in counts)) if all(counts) else math.inf

    def _logs(self, setting: Key) -> list[float]:
        seen = self._seen[setting]
        return seen.own if self._all_have_own else _known(seen.rate)


def _known(logs: Iterable[float]) -> list[float]:
    return [log for log in logs if not math.isnan(log)]
