"""How fast the host itself is while a trial trains, by a yardstick of fixed work.

On a shared host a core's speed may change by a third within a minute: the other half of a
physical core, its caches or the memory behind them are used by another virtual machine, and
the guest sees neither steal nor load. Between epochs, never within a step, a fixed number of
values is gathered from a fixed table too large for a core's own caches, by one thread and out of
memory that no allocator has a say in: the same for every config. What the trial's own speed
makes of a change of the yardstick's is seen within the trial, epoch by epoch.
"""

from __future__ import annotations

import math
import mmap
import statistics
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from functools import cache
from typing import Final

import numpy as np
import numpy.typing as npt

MIN_GAP_S: Final = 0.1
"""Training time from one look to the next, at least: a look takes two or three milliseconds."""
STRETCH_S: Final = 0.7
"""Training time that the two speeds are averaged over for the slope, at least. A look sees a
hundredth of it: what it reads of shorter stretches is mostly the haste of that moment."""
MIN_STRETCHES: Final = 6
"""Stretches that a slope is taken from, at least."""
MAX_SLOPE_ERROR: Final = 0.25
"""Standard error of a slope that is worth telling."""
_TABLE_BYTES = 16 * 2**20
_NUM_GATHERED = 100_000
_PASSES = 8


@dataclass(frozen=True, kw_only=True)
class Look:
    """One look at the host, at the end of an epoch.

    Attributes:
        gathers_per_s: Passes of the yardstick a second.
        samples: Samples that the trial had trained on by then.
        train_s: Seconds that it had spent on them.
    """

    gathers_per_s: float
    samples: int
    train_s: float


@dataclass
class HostSpeed:
    """The looks at the host in the course of a trial.

    Attributes:
        looks: All of them, in order.
    """

    looks: list[Look] = field(default_factory=list)

    def epoch_ends(self, samples: int, train_s: float) -> None:
        """Takes a look unless the last one was just before."""
        if not self.looks or train_s - self.looks[-1].train_s >= MIN_GAP_S:
            speed = gathers_per_s()
            self.looks.append(Look(gathers_per_s=speed, samples=samples, train_s=train_s))


def gathers_per_s() -> float:
    """Speed of the yardstick now, over a few passes."""
    table, places, gathered = _yardstick()
    began = time.perf_counter()
    for _ in range(_PASSES):
        np.take(table, places, out=gathered, mode="clip")  # no buffer, unlike mode="raise"
    return _PASSES / (time.perf_counter() - began)


def host_figures(looks: Sequence[Look]) -> Iterator[tuple[str, float]]:
    """The mean speed of the yardstick, and what the trial's speed makes of its changes."""
    if not looks:
        return
    yield "host_speed", math.exp(_mean_log(looks))
    slope = _slope(looks)
    if slope is not None:
        yield "host_speed_slope", slope


def _slope(looks: Sequence[Look]) -> float | None:
    """Least squares of log samples/s over the log of the host's speed, stretch by stretch."""
    stretches = list(_stretches(looks))
    rates = [(s[-1].samples - s[0].samples) / (s[-1].train_s - s[0].train_s) for s in stretches]
    if len(stretches) < MIN_STRETCHES or min(rates) <= 0:
        return None
    x = np.array([_mean_log(stretch) for stretch in stretches])
    x, y = x - x.mean(), np.log(rates) - np.log(rates).mean()
    squares = float(x @ x)
    if not squares:
        return None
    slope = float(x @ y) / squares
    residual = y - slope * x
    error = math.sqrt(float(residual @ residual) / (len(x) - 2) / squares)
    return slope if error <= MAX_SLOPE_ERROR else None


def _stretches(looks: Sequence[Look]) -> Iterator[Sequence[Look]]:
    """The looks from one end of a stretch to the other, both in it; what is left over is not."""
    first = 0
    for place, look in enumerate(looks):
        if look.train_s - looks[first].train_s >= STRETCH_S:
            yield looks[first : place + 1]
            first = place


def _mean_log(looks: Sequence[Look]) -> float:
    return statistics.fmean(math.log(look.gathers_per_s) for look in looks)


_Yardstick = tuple[npt.NDArray[np.float32], npt.NDArray[np.intp], npt.NDArray[np.float32]]


@cache
def _yardstick() -> _Yardstick:
    table = np.frombuffer(mmap.mmap(-1, _TABLE_BYTES), dtype=np.float32)
    table[:] = 1.0  # its pages are there from now on
    places = np.random.default_rng(0).integers(len(table), size=_NUM_GATHERED)
    return table, places, np.empty(_NUM_GATHERED, dtype=np.float32)
