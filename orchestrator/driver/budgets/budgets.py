"""Budgets: limits of the time, the core-hours, the GPU-hours and the cost of all trials."""

from __future__ import annotations

import argparse
import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, fields
from typing import Final

from orchestrator.errors import nearest

HOUR_S: Final = 3600.0


@dataclass(frozen=True, kw_only=True)
class Amount:
    """Time and resources of trials.

    Attributes:
        time_s: Seconds from the start of the first to the end of the last.
        core_s: Core-seconds: cores of a trial times the seconds that it holds them, summed.
        gpu_s: GPU-seconds, likewise.
    """

    time_s: float = 0.0
    core_s: float = 0.0
    gpu_s: float = 0.0

    def __add__(self, other: Amount) -> Amount:
        """Return what both take one after the other."""
        return Amount(
            time_s=self.time_s + other.time_s,
            core_s=self.core_s + other.core_s,
            gpu_s=self.gpu_s + other.gpu_s,
        )

    def times(self, factor: float) -> Amount:
        """Return so many times as much."""
        return Amount(
            time_s=factor * self.time_s, core_s=factor * self.core_s, gpu_s=factor * self.gpu_s
        )


@dataclass(frozen=True, kw_only=True)
class Prices:
    """Prices of one hour, in whatever currency.

    Attributes:
        cpu_hour: Of a core.
        gpu_hour: Of a GPU.
    """

    cpu_hour: float = 0.0
    gpu_hour: float = 0.0

    @classmethod
    def read(cls, text: str) -> Prices:
        """Read prices such as ``cpu_hour=0.04,gpu_hour=2.50``."""
        allowed = [entry.name for entry in fields(cls)]
        prices: dict[str, float] = {}
        for part in text.split(","):
            name, _, price = part.partition("=")
            try:
                number = float(price)
            except ValueError:
                number = math.nan
            if name not in allowed or name in prices or not 0 <= number < math.inf:
                meant = "" if name in allowed else nearest(name, allowed)
                raise argparse.ArgumentTypeError(
                    f"{part!r} is not a price{meant}; allowed: cpu_hour=0.04,gpu_hour=2.50, "
                    "each once"
                )
            prices[name] = number
        return cls(**prices)

    def __str__(self) -> str:
        """Return the text that :meth:`read` reads."""
        return f"cpu_hour={self.cpu_hour!r},gpu_hour={self.gpu_hour!r}"

    @property
    def by_name(self) -> dict[str, float]:
        """Return the prices as a sweep file has them."""
        return {"cpu_hour": self.cpu_hour, "gpu_hour": self.gpu_hour}

    def of(self, amount: Amount) -> float:
        """Return the cost of an amount."""
        return (self.cpu_hour * amount.core_s + self.gpu_hour * amount.gpu_s) / HOUR_S


@dataclass(frozen=True, kw_only=True)
class Budgets:
    """Limits of what all trials of a run may take together; None where there is none.

    Attributes:
        time_s: Seconds that the run may take; no trial starts after them.
        core_hours: Core-hours.
        prices: Prices, for :attr:`max_cost`.
        max_cost: Cost in the unit of the prices.
    """

    time_s: float | None = None
    core_hours: float | None = None
    prices: Prices | None = None
    max_cost: float | None = None

    def shares(self, amount: Amount) -> Iterator[tuple[float, str]]:
        """Yield for each limit which share of it an amount is, and the limit in words."""
        if self.time_s is not None:
            yield _share(amount.time_s, self.time_s), f"the time budget of {self.time_s:g} s"
        if self.core_hours is not None:
            hours = amount.core_s / HOUR_S
            yield _share(hours, self.core_hours), f"the budget of {self.core_hours:g} core-hours"
        if self.max_cost is not None and self.prices is not None:
            cost = self.prices.of(amount)
            yield _share(cost, self.max_cost), f"the cost of {self.max_cost:g}"

    def exceeded_by(self, amount: Amount) -> str:
        """Return the limit, in words, that an amount is the most above; empty where none is."""
        share, words = max(self.shares(amount), default=(0.0, ""))
        return words if share > 1 else ""

    def spent_by(self, amount: Amount) -> str:
        """Return the limit, in words, that an amount has reached; empty where it has none."""
        share, words = max(self.shares(amount), default=(0.0, ""))
        return words if share >= 1 else ""

    def in_words(self, amount: Amount) -> str:
        """Return what an amount is of each thing that has a limit, or a price."""
        words = []
        if self.time_s is not None:
            words.append(f"{amount.time_s:,.3g} s")
        if self.core_hours is not None:
            words.append(f"{amount.core_s / HOUR_S:,.2g} core-hours")
        if self.prices is not None:
            words.append(f"a cost of {self.prices.of(amount):,.2g}")
        return ", ".join(words)

    @property
    def has_limits(self) -> bool:
        """Return True if there is a limit."""
        return any(limit is not None for limit in self.limits.values())

    @property
    def limits(self) -> dict[str, float | None]:
        """Return each limit by its field, as JSON has it."""
        names = ("time_s", "core_hours", "max_cost")
        return {name: getattr(self, name) for name in names}

    def has_more_than(self, before: Mapping[str, float | None]) -> bool:
        """Return True if one of the limits is larger than it was, or gone."""
        now = self.limits
        return any(_limit(now[name]) > _limit(before.get(name)) for name in now)


def _limit(limit: float | None) -> float:
    return math.inf if limit is None else limit


def _share(amount: float, limit: float) -> float:
    return amount / limit if limit > 0 else math.inf
