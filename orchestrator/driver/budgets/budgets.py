"""Budgets: limits of the time and the core-hours of all trials; what is expected of these."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any, Final

from orchestrator.formats import duration
from orchestrator.search.stages.confirm import FirstRounds
from orchestrator.trial import Budget

HOUR_S: Final = 3600.0

MARGIN: Final = 1.1
"""Factor on the expected confirm stage to be kept back for it: runs differ in length."""

LEAST_CONFIGS: Final = 2
"""Configs that a search must have room for, or nothing is kept back: a baseline and one more."""

Config = Mapping[str, Any]


@dataclass(frozen=True, kw_only=True)
class Amount:
    """Time and resources of trials.

    Attributes:
        time_s: Seconds from the start of the first to the end of the last.
        core_s: Core-seconds: the sum of each trial's cores times the seconds it holds them.
    """

    time_s: float = 0.0
    core_s: float = 0.0

    def __add__(self, other: Amount) -> Amount:
        """Return the sum of both, one after the other."""
        return Amount(time_s=self.time_s + other.time_s, core_s=self.core_s + other.core_s)

    def times(self, factor: float) -> Amount:
        """Return so many times as much."""
        return Amount(time_s=factor * self.time_s, core_s=factor * self.core_s)


@dataclass(frozen=True, kw_only=True)
class Budgets:
    """Limits of what all trials of a run may take together; None: no limit.

    Attributes:
        time_s: Seconds that the run may take; no trial starts after them.
        core_hours: Core-hours.
    """

    time_s: float | None = None
    core_hours: float | None = None

    def shares(self, amount: Amount) -> Iterator[tuple[float, str]]:
        """Yield an amount's share of each limit, and the limit in words."""
        if self.time_s is not None:
            yield _share(amount.time_s, self.time_s), f"the time budget of {self.time_s:g} s"
        if self.core_hours is not None:
            hours = amount.core_s / HOUR_S
            yield _share(hours, self.core_hours), f"the budget of {self.core_hours:g} core-hours"

    def exceeded_by(self, amount: Amount) -> str:
        """Return in words the limit that an amount exceeds most; empty if it exceeds none."""
        share, words = max(self.shares(amount), default=(0.0, ""))
        return words if share > 1 else ""

    def spent_by(self, amount: Amount) -> str:
        """Return in words a limit that an amount has reached; empty if it has reached none."""
        share, words = max(self.shares(amount), default=(0.0, ""))
        return words if share >= 1 else ""

    def in_words(self, amount: Amount) -> str:
        """Return an amount in words, for each quantity that has a limit."""
        words = []
        if self.time_s is not None:
            words.append(duration(amount.time_s))
        if self.core_hours is not None:
            words.append(f"{amount.core_s / HOUR_S:,.2g} core-hours")
        return ", ".join(words)

    @property
    def has_limits(self) -> bool:
        """Return True if there is a limit."""
        return any(limit is not None for limit in self.limits.values())

    @property
    def limits(self) -> dict[str, float | None]:
        """Return each limit by its field, as JSON has it."""
        return {"time_s": self.time_s, "core_hours": self.core_hours}

    def has_more_than(self, before: Mapping[str, float | None]) -> bool:
        """Return True if one of the limits is larger than it was, or gone."""
        now = self.limits
        return any(_limit(now[name]) > _limit(before.get(name)) for name in now)


def _limit(limit: float | None) -> float:
    return math.inf if limit is None else limit


def _share(amount: float, limit: float) -> float:
    return amount / limit if limit > 0 else math.inf


@dataclass(frozen=True, kw_only=True)
class Expectation:
    """Durations and cores of a sweep's trials as expected before any has run.

    Attributes:
        num_cores: Cores of each.
        budget: Budget of a whole training.
        baseline: The baseline's config.
        trial_s: Seconds that a whole training holds its cores for, or None where that is not known.
        confirm: The confirm stage up to its first analysis.
        num_configs: Configs that the search would train, or None.
    """

    num_cores: int
    budget: Budget
    baseline: Config
    trial_s: float | None = None
    confirm: FirstRounds = field(default_factory=FirstRounds)
    num_configs: int | None = None


def kept_back(
    first: FirstRounds, budgets: Budgets, *, baseline: Amount, typical: Amount, least: Amount
) -> Amount:
    """Return what budgets keep back for the confirm stage; nothing if no search would be left.

    Room for all finalists if there is enough, else only for the selected config.

    Args:
        first: The stage up to its first analysis.
        budgets: The budgets.
        baseline: Amount of a whole training of the baseline.
        typical: Amount of a whole training of another config.
        least: Least amount of a search.
    """
    if not first.rounds:
        return Amount()
    for finalists, margin in ((first.finalists, MARGIN), (min(1, first.finalists), 1.0)):
        compared = (baseline + typical.times(finalists)).times(first.rounds * first.share)
        kept = (compared + typical).times(margin)  # the last one is the test run
        if not budgets.exceeded_by(kept + least):
            return kept
    return Amount()
