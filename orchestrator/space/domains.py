"""Domains: the values over which a sweep varies a knob.

``choice``, ``uniform``, ``loguniform`` and ``integers`` are typed as the values of the knob.
So ``SageConfig(num_workers=choice(0, 3))`` type-checks exactly when
``SageConfig(num_workers=0)`` and ``SageConfig(num_workers=3)`` do.
"""

import math
import random
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Final, TypeVar, cast

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
        step: Distance of the values, all of them multiples of it. None: any number, or any whole
            one.
    """

    low: float
    high: float
    log: bool = False
    integer: bool = False
    step: float | None = None

    def problem(self) -> str | None:
        """Return the problem of the domain itself, or None."""
        if not (_is_finite(self.low) and _is_finite(self.high)):
            return f"the ends of {self} must be finite numbers"
        if self.low > self.high:
            return f"`low <= high` must hold, but got (low={self.low!r}, high={self.high!r})"
        if self.log and self.low <= 0:
            return f"`low > 0` must hold for a logarithmic domain, but got (low={self.low!r})"
        if self.step is None:
            return None
        if not (_is_finite(self.step) and self.step > 0):
            return f"the step of {self} must be > 0"
        wrong = [end for end in self.bounds() if not _is_multiple(end, self.step)]
        return f"the ends of {self} must be multiples of its step" if wrong else None

    def sample(self, rng: random.Random) -> float:
        """Return one value, evenly on the domain's scale."""
        if self.integer and self.step is not None:
            # Each multiple is as likely as the others.
            first, last = round(self.low / self.step), round(self.high / self.step)
            return int(self.step) * int(Interval(first, last, self.log, integer=True).sample(rng))
        if not self.integer:
            return self.snapped(self._between(self.low, self.high, rng.random()))
        if not self.log:
            return rng.randint(int(self.low), int(self.high))
        # Half a step beyond each end, so that the ends have as much room as the others.
        return self.snapped(self._between(self.low - 0.5, self.high + 0.5, rng.random()))

    def points(self, count: int) -> tuple[float, ...]:
        """Return ``count`` values spaced evenly on the domain's scale, the ends included.

        One point is the middle. Values that coincide are given once.
        """
        if self.low == self.high:
            return (self.low,)
        if count == 1:
            return (self.snapped(self._between(self.low, self.high, 0.5)),)
        shares = (i / (count - 1) for i in range(1, count - 1))
        middle = (self.snapped(self._between(self.low, self.high, share)) for share in shares)
        return tuple(dict.fromkeys([self.low, *middle, self.high]))

    def every_value(self, most: int = 1_000_000) -> Sequence[float] | None:
        """Return all values in order; None of more than ``most``, or of numbers without a step."""
        if self.low == self.high:
            return (self.low,)
        if self.step is None and not self.integer:
            return None
        step = self.step
        first, last = (int(end) if step is None else round(end / step) for end in self.bounds())
        if last - first >= most:
            return None
        counts = range(first, last + 1)
        return counts if step is None else [self._multiple(count) for count in counts]

    def snapped(self, value: float) -> float:
        """Return the nearest value in the domain that is short to read: six digits, or whole."""
        if self.step is not None:
            value = self._multiple(round(value / self.step))
        elif self.integer:
            return min(max(round(value), int(self.low)), int(self.high))
        else:
            value = float(f"{value:.6g}")
        return min(max(value, self.low), self.high)

    def bounds(self) -> tuple[Any, ...]:
        """Return the values to check against the knob's own range."""
        return (self.low, self.high)

    def contains(self, value: object) -> bool:
        """Return True if ``value`` is a number in the domain."""
        if isinstance(value, bool) or not isinstance(value, int if self.integer else (int, float)):
            return False
        within = self.low <= value <= self.high
        return within and (self.step is None or _is_multiple(value, self.step))

    def _multiple(self, count: int) -> float:
        """Return so many steps, without the digits that only a sum in binary has."""
        assert self.step is not None
        return count * int(self.step) if self.integer else float(f"{count * self.step:.12g}")

    def _between(self, low: float, high: float, share: float) -> float:
        if self.log:
            return math.exp(math.log(low) + share * (math.log(high) - math.log(low)))
        return low + share * (high - low)

    def __repr__(self) -> str:
        step = "" if self.step is None else f", step={_short(self.step)}"
        name = "integers" if self.integer else "loguniform" if self.log else "uniform"
        log = ", log=True" if self.integer and self.log else ""
        return f"{name}({_short(self.low)}, {_short(self.high)}{log}{step})"


Domain = Choice | Interval


def choice(*values: V) -> V:
    """Vary a knob over the values given: ``num_workers=choice(0, 3, 6, 8)``."""
    return cast("V", Choice(values))


def uniform(low: float, high: float, *, step: float | None = None) -> float:
    """Vary a knob over all numbers from ``low`` to ``high``, or over the multiples of ``step``."""
    return cast("float", Interval(low, high, step=step))


def loguniform(low: float, high: float, *, step: float | None = None) -> float:
    """Vary a knob from ``low`` to ``high``, evenly in its logarithm."""
    return cast("float", Interval(low, high, log=True, step=step))


def integers(low: int, high: int, *, log: bool = False, step: int | None = None) -> int:
    """Vary a knob over the whole numbers from ``low`` to ``high``, both included."""
    return cast("int", Interval(low, high, log=log, integer=True, step=step))


def _is_finite(number: object) -> bool:
    """Return True for a number that is finite, as a float too."""
    try:
        return math.isfinite(cast("float", number))
    except (TypeError, OverflowError):
        return False


def _is_multiple(value: float, step: float) -> bool:
    count = value / step
    return math.isfinite(count) and math.isclose(count, round(count), abs_tol=1e-9)


def _short(end: object) -> str:
    return f"{end:g}" if isinstance(end, float) else repr(end)


# -- Ray Tune's domains, recognised by shape: Ray need not be installed

_TAKEN: Final = (
    "taken are tune.choice, tune.grid_search, tune.uniform, tune.loguniform, tune.randint, "
    "tune.lograndint and their quantized forms"
)


def from_ray_tune(value: object) -> object:
    """Return our counterpart of one of Ray Tune's domains; anything else as it is.

    Raises:
        ValueError: The domain is one that has no counterpart here (``sample_from``).
    """
    if isinstance(value, dict) and set(value) == {"grid_search"}:
        return Choice(tuple(value["grid_search"]))
    if not is_ray_domain(value):
        return value
    domain = cast("Any", value)
    kind, sampler, step = type(value).__name__, domain.get_sampler(), None
    if type(sampler).__name__ == "Quantized":
        sampler, step = sampler.get_sampler(), sampler.q
    scale = type(sampler).__name__
    log = scale == "_LogUniform"
    if kind == "Categorical":
        return Choice(tuple(domain.categories))
    if scale in {"_Uniform", "_LogUniform"} and kind in {"Integer", "Float"}:
        whole = kind == "Integer"
        low, high = float(domain.lower), float(domain.upper)
        if whole and step in {None, 1}:  # Ray excludes the upper end, unless it is quantized
            step, high = None, high - 1
        if step:
            first, last = math.ceil(low / step - 1e-9), math.floor(high / step + 1e-9)
            low, high = float(f"{first * step:.12g}"), float(f"{last * step:.12g}")
        if whole:
            low, high = int(low), int(high)
        return Interval(low, high, log=log, integer=whole, step=step)
    name = "tune.sample_from" if kind == "Function" else f"Ray Tune's {kind} ({scale.lstrip('_')})"
    raise ValueError(f"{name} has no counterpart here; {_TAKEN}")


def is_ray_domain(value: object) -> bool:
    """Return True for one of Ray Tune's domains, but for ``tune.grid_search``, a dictionary."""
    return type(value).__module__.startswith("ray.tune.search") and hasattr(value, "get_sampler")
