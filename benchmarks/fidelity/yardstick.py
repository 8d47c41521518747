"""A yardstick of fixed work between the epochs of a trial: how fast the host itself is.

On a shared host a core's speed may change by a third within a minute: the other half of a
physical core, its caches or the memory behind them are used by another virtual machine, and
the guest sees neither steal nor load. Between epochs, never within a step, a fixed number of
values is gathered from a fixed table too large for a core's own caches, by one thread and out of
memory that no allocator has a say in: the same for every config.
"""

from __future__ import annotations

import functools
import math
import mmap
import statistics
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any, Final, TypeVar, cast

import numpy as np
import numpy.typing as npt

from orchestrator.measurement.run import Run
from orchestrator.trainable import Trainable

B = TypeVar("B")
C = TypeVar("C")

MIN_GAP_S: Final = 0.1
"""Training time from one reading to the next, at least: a reading takes two or three
milliseconds."""
STRETCH_S: Final = 0.7
"""Training time that the two speeds are averaged over for the slope, at least. A reading sees a
hundredth of it: in shorter stretches it is mostly the noise of that moment."""
MIN_STRETCHES: Final = 6
"""Stretches that a slope is taken from, at least."""
MAX_SLOPE_ERROR: Final = 0.25
"""Standard error of a slope above which it is left out."""
_TABLE_BYTES = 16 * 2**20
_NUM_GATHERED = 100_000
_PASSES = 8


@dataclass(frozen=True, kw_only=True)
class Reading:
    """The host's speed at the end of an epoch.

    Attributes:
        gathers_per_s: Passes of the yardstick a second.
        samples: Samples that the trial had trained on by then.
        train_s: Seconds that it had spent on them.
    """

    gathers_per_s: float
    samples: int
    train_s: float


def watched(trainable: Trainable[C], read: Callable[[], float] | None = None) -> Trainable[C]:
    """Return the trainable with readings of the host between its epochs.

    It reports ``host_speed`` and, where it is known, ``host_speed_slope``
    (:func:`host_figures`).

    Args:
        trainable: Trains in one process, by ``run.batches`` and ``run.report``.
        read: Speed of the host now; the default is :func:`gathers_per_s`.
    """

    @functools.wraps(trainable.train)
    def train(config: C, run: Run) -> None:
        trainable.train(config, cast("Run", WatchedRun(run, read or gathers_per_s)))

    return replace(trainable, train=train)


class WatchedRun:
    """A run whose host is read after epochs, outside all that is timed.

    Attributes:
        readings: Readings so far, in order.
    """

    def __init__(self, run: Run, read: Callable[[], float]) -> None:
        self._run = run
        self._read = read
        self._samples = 0
        self.readings: list[Reading] = []

    def __getattr__(self, name: str) -> Any:  # noqa: ANN401 - whatever the run has
        return getattr(self._run, name)

    def batches(self, loader: Iterable[B], *, samples: Callable[[B], int]) -> Iterator[B]:
        """Yield the run's batches and read the host after the last one."""

        def counted(batch: B) -> int:
            number = samples(batch)
            self._samples += number
            return number

        yield from self._run.batches(loader, samples=counted)
        train_s = self._run.recording().train_s
        if not self.readings or train_s - self.readings[-1].train_s >= MIN_GAP_S:
            reading = Reading(gathers_per_s=self._read(), samples=self._samples, train_s=train_s)
            self.readings.append(reading)

    def report(self, **metrics: float) -> None:
        """Report ``metrics`` with the figures of the host."""
        self._run.report(**metrics, **dict(host_figures(self.readings)))


def gathers_per_s() -> float:
    """Return the speed of the yardstick now, over a few passes."""
    table, places, gathered = _yardstick()
    began = time.perf_counter()
    for _ in range(_PASSES):
        np.take(table, places, out=gathered, mode="clip")  # no buffer, unlike mode="raise"
    return _PASSES / (time.perf_counter() - began)


_Yardstick = tuple[npt.NDArray[np.float32], npt.NDArray[np.intp], npt.NDArray[np.float32]]


@functools.cache
def _yardstick() -> _Yardstick:
    table = np.frombuffer(mmap.mmap(-1, _TABLE_BYTES), dtype=np.float32)
    table[:] = 1.0  # its pages are there from now on
    places = np.random.default_rng(0).integers(len(table), size=_NUM_GATHERED)
    return table, places, np.empty(_NUM_GATHERED, dtype=np.float32)


def host_figures(readings: Sequence[Reading]) -> Iterator[tuple[str, float]]:
    """Yield ``host_speed`` and, where it is known, ``host_speed_slope`` of one trial."""
    if not readings:
        return
    yield "host_speed", math.exp(_mean_log(readings))
    slope = _slope(readings)
    if slope is not None:
        yield "host_speed_slope", slope


def _slope(readings: Sequence[Reading]) -> float | None:
    """Fit log samples/s over the log of the host's speed by least squares, a point a stretch."""
    stretches = list(_stretches(readings))
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


def _stretches(readings: Sequence[Reading]) -> Iterator[Sequence[Reading]]:
    """Yield the readings of each stretch, both ends in it; an unfinished one is left out."""
    first = 0
    for place, reading in enumerate(readings):
        if reading.train_s - readings[first].train_s >= STRETCH_S:
            yield readings[first : place + 1]
            first = place


def _mean_log(readings: Sequence[Reading]) -> float:
    return statistics.fmean(math.log(reading.gathers_per_s) for reading in readings)
