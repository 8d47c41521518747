"""Domains: the values over which a sweep varies a knob.

``choice``, ``uniform``, ``loguniform`` and ``integers`` are typed as the values of the knob.
So ``SageConfig(num_workers=choice(0, 3))`` type-checks exactly when
``SageConfig(num_workers=0)`` and ``SageConfig(num_workers=3)`` do.
"""

from __future__ import annotations

import math
import random
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, TypeVar, cast

V = TypeVar("V")


@dataclass(frozen=True, repr=False)
class Choice:
    """Finite set of values, tried in the order given."""

    values: tuple[Any, ...]

    def problem(self) -> str | None:
        """Return the problem of the domain itself, or None."""
        return None if self.values else "choice() of no values leaves nothing to vary"

    def sample(self, rng: random.Random) -> Any:  # noqa: ANN401 - the knob's own type
        """Return one value, each as likely as the others."""
        return rng.choice(self.values)

    def points(self, count: int) -> tuple[Any, ...]:
        """Return all the values, whatever ``count`` is."""
        return self.values

    def bounds(self) -> tuple[Any, ...]:
        """Return the values to check against the knob's own range."""
        return self.values

    def contains(self, value: object) -> bool:
        """Return True if ``value`` is one of the values."""
        return value in self.values

    def __repr__(self) -> str:
        return "choice(" + ", ".join(repr(value) for value in self.values) + ")"


@dataclass(frozen=True, repr=False)
class Interval:
    """Numbers from ``low`` to ``high``, both included.

    Attributes:
        low: Smallest value.
        high: Largest value.
        log: True for steps and samples that are even in the logarithm.
        integer: True for whole numbers only.
    """

    low: float
    high: float
    log: bool = False
    integer: bool = False

    def problem(self) -> str | None:
        """Return the problem of the domain itself, or None."""
        try:
            finite = math.isfinite(self.low) and math.isfinite(self.high)
        except TypeError:
            finite = False
        if not finite:
            return f"the ends of {self} must be finite numbers"
        if self.low > self.high:
            return f"`low <= high` must hold, but got (low={self.low!r}, high={self.high!r})"
        if self.log and self.low <= 0:
            return f"`low > 0` must hold for a logarithmic domain, but got (low={self.low!r})"
        return None

    def sample(self, rng: random.Random) -> float:
        """Return one value, evenly on the domain's scale."""
        if not self.integer:
            return self.snapped(self._between(self.low, self.high, rng.random()))
        if not self.log:
            return rng.randint(int(self.low), int(self.high))
        # Half a step beyond each end, so that the ends have as much room as the others.
        return self.snapped(self._between(self.low - 0.5, self.high + 0.5, rng.random()))

    def points(self, count: int) -> tuple[float, ...]:
        """Return ``count`` values spaced evenly on the domain's scale, the ends included.

        One point is the middle. Whole numbers that coincide are given once.
        """
        if count == 1:
            return (self.snapped(self._between(self.low, self.high, 0.5)),)
        shares = (i / (count - 1) for i in range(1, count - 1))
        middle = (self.snapped(self._between(self.low, self.high, share)) for share in shares)
        return tuple(dict.fromkeys([self.low, *middle, self.high]))

    def snapped(self, value: float) -> float:
        """Return the nearest value in the domain that is short to read: six digits, or whole."""
        if self.integer:
            return min(max(round(value), int(self.low)), int(self.high))
        return min(max(float(f"{value:.6g}"), self.low), self.high)

    def bounds(self) -> tuple[Any, ...]:
        """Return the values to check against the knob's own range."""
        return (self.low, self.high)

    def contains(self, value: object) -> bool:
        """Return True if ``value`` is a number in the domain."""
        if isinstance(value, bool) or not isinstance(value, int if self.integer else (int, float)):
            return False
        return self.low <= value <= self.high

    def _between(self, low: float, high: float, share: float) -> float:
        if self.log:
            return math.exp(math.log(low) + share * (math.log(high) - math.log(low)))
        return low + share * (high - low)

    def __repr__(self) -> str:
        name = "integers" if self.integer else "loguniform" if self.log else "uniform"
        log = ", log=True" if self.integer and self.log else ""
        return f"{name}({_short(self.low)}, {_short(self.high)}{log})"


Domain = Choice | Interval


def choice(*values: V) -> V:
    """Vary a knob over the values given: ``num_workers=choice(0, 3, 6, 8)``."""
    return cast("V", Choice(values))


def uniform(low: float, high: float) -> float:
    """Vary a knob over all numbers from ``low`` to ``high``."""
    return cast("float", Interval(low, high))


def loguniform(low: float, high: float) -> float:
    """Vary a knob from ``low`` to ``high``, evenly in its logarithm."""
    return cast("float", Interval(low, high, log=True))


def integers(low: int, high: int, *, log: bool = False) -> int:
    """Vary a knob over the whole numbers from ``low`` to ``high``, both included."""
    return cast("int", Interval(low, high, log=log, integer=True))


_RAY_DOMAINS = (
    "taken are tune.choice, tune.grid_search, tune.uniform, tune.loguniform, tune.randint and "
    "tune.lograndint"
)


def from_ray_tune(value: object) -> object:
    """Return our counterpart of one of Ray Tune's domains; anything else as it is.

    They are recognised by shape, so that Ray need not be installed: ``tune.choice``,
    ``tune.grid_search``, ``tune.uniform``, ``tune.loguniform``, ``tune.randint`` and
    ``tune.lograndint``.

    Raises:
        ValueError: The domain is one that has no counterpart here (``sample_from``).
    """
    if isinstance(value, Mapping) and set(value) == {"grid_search"}:
        return Choice(tuple(cast("Sequence[Any]", value["grid_search"])))
    if not type(value).__module__.startswith("ray.tune.search"):
        return value
    domain = cast("Any", value)
    kind, sampler = type(value).__name__, type(domain.get_sampler()).__name__
    if kind == "Categorical":
        return Choice(tuple(domain.categories))
    if sampler in {"_Uniform", "_LogUniform"} and kind in {"Float", "Integer"}:
        whole = kind == "Integer"  # Ray's upper end of an integer is excluded
        high = domain.upper - 1 if whole else domain.upper
        return Interval(domain.lower, high, log=sampler == "_LogUniform", integer=whole)
    shown = f"{kind} domain ({sampler.lstrip('_')})"
    raise ValueError(f"Ray Tune's {shown} has no counterpart here; {_RAY_DOMAINS}")


def _short(end: object) -> str:
    return f"{end:g}" if isinstance(end, float) else repr(end)
