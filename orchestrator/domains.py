"""Domains: what a sweep varies a knob over.

``choice``, ``uniform``, ``loguniform`` and ``integers`` are typed as the value that
they stand for, so that ``SageConfig(num_workers=choice(0, 3))`` type-checks exactly
when ``SageConfig(num_workers=0)`` and ``SageConfig(num_workers=3)`` do.
"""

from __future__ import annotations

import math
import random
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, TypeVar, cast

V = TypeVar("V")


@dataclass(frozen=True)
class Choice:
    """A finite set of values, tried in the order given."""

    values: tuple[Any, ...]

    def problem(self) -> str | None:
        """What is wrong with the domain itself, or None."""
        return None if self.values else "choice() of no values leaves nothing to vary"

    def sample(self, rng: random.Random) -> Any:  # noqa: ANN401 - the knob's own type
        """One value, each as likely as the others."""
        return rng.choice(self.values)

    def points(self, count: int) -> tuple[Any, ...]:  # noqa: ARG002 - one interface for all domains
        """All the values, whatever ``count`` is."""
        return self.values

    def bounds(self) -> tuple[Any, ...]:
        """The values to check against the knob's own range."""
        return self.values

    def __str__(self) -> str:
        return "choice(" + ", ".join(repr(value) for value in self.values) + ")"


@dataclass(frozen=True)
class Interval:
    """All numbers from ``low`` to ``high``, both included.

    Attributes:
        low: Smallest value.
        high: Largest value.
        log: Whether to step and sample evenly in the logarithm.
        integer: Whether only whole numbers are meant.
    """

    low: float
    high: float
    log: bool = False
    integer: bool = False

    def problem(self) -> str | None:
        """What is wrong with the domain itself, or None."""
        if not (math.isfinite(self.low) and math.isfinite(self.high)):
            return f"the ends of {self} must be finite numbers"
        if self.low > self.high:
            return f"`low <= high` must hold, but got (low={self.low!r}, high={self.high!r})"
        if self.log and self.low <= 0:
            return f"`low > 0` must hold for a logarithmic domain, but got (low={self.low!r})"
        return None

    def sample(self, rng: random.Random) -> float:
        """One value, evenly on the domain's scale."""
        return self._at(rng.random())

    def points(self, count: int) -> tuple[float, ...]:
        """``count`` values spaced evenly on the domain's scale, the ends included."""
        if count == 1 or self.low == self.high:
            return (self._at(0.5),)
        return tuple(dict.fromkeys(self._at(i / (count - 1)) for i in range(count)))

    def bounds(self) -> tuple[Any, ...]:
        """The values to check against the knob's own range."""
        return (int(self.low), int(self.high)) if self.integer else (self.low, self.high)

    def _at(self, share: float) -> float:
        if self.integer:
            # Half a step beyond each end, so that the ends are as likely as the rest.
            low, high = self.low - 0.5, self.high + 0.5
            value = round(self._between(low if low > 0 else self.low, high, share))
            return int(min(max(value, self.low), self.high))
        value = self._between(self.low, self.high, share)
        return min(max(float(f"{value:.6g}"), self.low), self.high)

    def _between(self, low: float, high: float, share: float) -> float:
        if self.log:
            return math.exp(math.log(low) + share * (math.log(high) - math.log(low)))
        return low + share * (high - low)

    def __str__(self) -> str:
        name = "integers" if self.integer else "loguniform" if self.log else "uniform"
        log = ", log=True" if self.integer and self.log else ""
        return f"{name}({self.low:g}, {self.high:g}{log})"


Domain = Choice | Interval


def choice(*values: V) -> V:
    """Varies a knob over the values given: ``num_workers=choice(0, 3, 6, 8)``."""
    return cast("V", Choice(values))


def uniform(low: float, high: float) -> float:
    """Varies a knob over all numbers from ``low`` to ``high``."""
    return cast("float", Interval(low, high))


def loguniform(low: float, high: float) -> float:
    """Varies a knob from ``low`` to ``high``, evenly in its logarithm."""
    return cast("float", Interval(low, high, log=True))


def integers(low: int, high: int, *, log: bool = False) -> int:
    """Varies a knob over the whole numbers from ``low`` to ``high``, both included."""
    return cast("int", Interval(low, high, log=log, integer=True))


def from_ray_tune(value: object) -> object:
    """Turns one of Ray Tune's own domains into ours; anything else is returned as it is.

    Recognised by shape, so that Ray need not be installed: ``tune.choice``,
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
    raise ValueError(f"Ray Tune's {kind} domain with {sampler.lstrip('_')} has no counterpart here")
