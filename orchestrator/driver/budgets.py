"""Budgets: limits of the time and the core-hours that all trials of a run take together."""

import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Final

from orchestrator.formats import duration

HOUR_S: Final = 3600.0

LEAST_CONFIGS: Final = 2
"""Configs that a search must have room for, or nothing is kept back: a baseline and one more."""

MARGIN: Final = 1.1
"""Factor on the expected confirm stage to be kept back for it: runs differ in length."""


@dataclass(frozen=True, kw_only=True)
class Amount:
    """Time and resources of trials.

    Attributes:
        time_s: Seconds from the start of the first to the end of the last.
        core_s: Core-seconds: each trial's cores times the seconds that it has them, summed.
    """

    time_s: float = 0.0
    core_s: float = 0.0

    def __add__(self, other: "Amount") -> "Amount":
        """Return the sum of both, one after the other."""
        return Amount(time_s=self.time_s + other.time_s, core_s=self.core_s + other.core_s)

    def __str__(self) -> str:
        return f"{duration(self.time_s)}, {self.core_hours} core-hours"

    @property
    def core_hours(self) -> str:
        """Return the core-hours in words, without their unit."""
        return f"{self.core_s / HOUR_S:,.2g}"

    def times(self, factor: float) -> "Amount":
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
            share = _share(amount.core_s / HOUR_S, self.core_hours)
            yield share, f"the budget of {self.core_hours:g} core-hours"

    def exceeded_by(self, amount: Amount, *, reached: bool = False) -> str:
        """Return in words the limit that an amount exceeds most, or has ``reached``; else ""."""
        share, words = max(self.shares(amount), default=(0.0, ""))
        return words if share > 1 or (reached and share >= 1) else ""

    @property
    def has_limits(self) -> bool:
        """Return True if there is a limit."""
        return self != Budgets()

    def has_more_than(self, before: Mapping[str, float | None]) -> bool:
        """Return True if one of the limits is larger than it was, or gone."""
        pairs = ((limit, before.get(name)) for name, limit in vars(self).items())
        return any(then is not None and (now or math.inf) > then for now, then in pairs)


def _share(amount: float, limit: float) -> float:
    return amount / limit if limit > 0 else math.inf
