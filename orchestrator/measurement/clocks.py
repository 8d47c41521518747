"""Clocks: marks that cost little when set and become seconds later.

On the CPU a mark is a reading of the monotonic clock. On CUDA it is an event on the
compute stream: Python runs ahead of the device, so its clock has the time at which kernels
were launched, not when they ran. Phases thus partition the device's time line, and nothing is
synchronised inside a step; the events are read when an epoch has ended.

Copies on a separate CUDA stream overlap the steps. They are counted separately.
"""

import time
from bisect import bisect_left
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, nullcontext
from operator import itemgetter
from typing import Any

import torch

Mark = Any
"""Moment of a clock: opaque, only the clock that set it can read it."""

ANCHOR_S = 10.0
"""Distance of two CUDA events up to which it is good to a microsecond."""


class HostClock:
    """Monotonic clock of the host.

    Args:
        now: Seconds from any origin.
    """

    is_remote = False
    pausing = nullcontext  # ``now`` itself stands still in other trials' time

    def __init__(self, now: Callable[[], float] = time.perf_counter) -> None:
        self._origin = now()
        self.mark = now  # no method around it: it is called some ten times a step

    def wait_for(self, mark: Mark) -> None:
        """Return at once: the mark has been reached."""

    def resolve(self, marks: Sequence[Mark]) -> list[float]:
        """Return the seconds of each mark since the clock was made."""
        return [mark - self._origin for mark in marks]


class CudaClock:
    """Clock of a device: events on its current stream. It stands still in pauses."""

    is_remote = True

    def __init__(self, device: torch.device) -> None:
        self._device = device
        self._anchor, self._anchor_s = self.mark(), 0.0
        self._unread: list[tuple[Mark, Mark]] = []
        self._pauses: list[tuple[float, float, float]] = []  # begin, duration, earlier ones, s

    def mark(self) -> Mark:
        """Record an event on the current stream; the host does not wait for it."""
        # Without timing, which is the default, an event has an order, but no time.
        event = torch.cuda.Event(enable_timing=True)
        event.record(torch.cuda.current_stream(self._device))
        return event

    @contextmanager
    def pausing(self) -> Iterator[None]:
        """Leave the time of other trials on the device out, once it has done this one's work."""
        torch.cuda.synchronize(self._device)
        begin = self.mark()
        yield
        self._unread.append((begin, self.mark()))

    def wait_for(self, mark: Mark) -> None:
        """Wait until the device has reached ``mark``."""
        mark.synchronize()

    def resolve(self, marks: Sequence[Mark]) -> list[float]:
        """Wait for the device, then read the events.

        CUDA gives a distance in milliseconds in single precision, which after an hour is a
        quarter of a millisecond coarse. So a mark far from the last anchor becomes the next one.
        """
        # The distance to an event that has not happened yet is an error.
        torch.cuda.synchronize(self._device)
        while self._unread:
            begin_s, end_s = map(self._device_s, self._unread.pop(0))
            earlier_s = sum(self._pauses[-1][1:]) if self._pauses else 0.0
            self._pauses.append((begin_s, end_s - begin_s, earlier_s))
        return [self._own_s(self._device_s(mark)) for mark in marks]

    def _device_s(self, mark: Mark) -> float:
        """Return the seconds of a mark since the clock was made, pauses included."""
        since_s = self._anchor.elapsed_time(mark) / 1000
        seconds = float(self._anchor_s + since_s)
        if since_s > ANCHOR_S:
            self._anchor, self._anchor_s = mark, seconds
        return seconds

    def _own_s(self, device_s: float) -> float:
        """Return a time of the device without the pauses before it."""
        count = bisect_left(self._pauses, device_s, key=itemgetter(0))
        if not count:
            return device_s
        begin_s, took_s, earlier_s = self._pauses[count - 1]
        return device_s - earlier_s - min(device_s - begin_s, took_s)


Clock = HostClock | CudaClock
"""Source of marks, which become seconds since it was made; ``is_remote`` has the device's time."""


def clock_for(device: torch.device, now: Callable[[], float] = time.perf_counter) -> Clock:
    """Return the clock that partitions a step on ``device``; on the CPU it goes by ``now``."""
    return CudaClock(device) if device.type == "cuda" else HostClock(now)


class Copies:
    """Total time of copies, from pairs of CUDA events on their stream.

    The events are read when an epoch has ended: reading one waits for the copy.

    Attributes:
        total_s: Seconds of all copies so far; None where none was counted.
        are_waited_for: True where the next batch is not fetched before a copy is done.
    """

    def __init__(self) -> None:
        self.total_s: float | None = None
        self.are_waited_for = False
        self._pending: list[tuple[torch.cuda.Event, torch.cuda.Event]] = []

    @contextmanager
    def on(self, stream: torch.cuda.Stream, *, is_waited_for: bool = False) -> Iterator[None]:
        """Count what is put on ``stream`` within it."""
        self.are_waited_for |= is_waited_for
        begin, end = (torch.cuda.Event(enable_timing=True) for _ in range(2))
        begin.record(stream)
        yield
        end.record(stream)
        self._pending.append((begin, end))

    def end_epoch(self) -> None:
        """Wait for the copies that were started, and add them up."""
        if not self._pending:
            return
        pending, self._pending = self._pending, []
        for begin, end in pending:
            # The begin is before it on the same stream, and so has happened too.
            end.synchronize()
            self.total_s = (self.total_s or 0.0) + begin.elapsed_time(end) / 1000
