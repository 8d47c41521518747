"""Clocks: marks that cost little when set and become seconds later.

On the CPU a mark is a reading of the monotonic clock. On CUDA it is an event on the
compute stream, so that phases partition the device's time line and nothing is
synchronised inside a step; the events are read when an epoch has ended.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from typing import Any, Protocol

import torch

Mark = Any
"""Opaque; only the clock that set it can read it."""

ANCHOR_S = 10.0
"""Within so many seconds of an event CUDA's distances are good to a microsecond."""


class Clock(Protocol):
    """Sets marks and turns them into seconds since the clock was made.

    Attributes:
        is_remote: Whether it tells the device's time and not the host's.
    """

    is_remote: bool

    def mark(self) -> Mark:
        """Marks this moment."""

    def resolve(self, marks: Sequence[Mark]) -> list[float]:
        """Seconds of each mark since the clock was made. May synchronise the device."""


class HostClock:
    """The host's monotonic clock.

    Args:
        now: Another one to go by, seconds from any origin.
    """

    is_remote = False

    def __init__(self, now: Callable[[], float] = time.perf_counter) -> None:
        self._origin = now()
        self.mark = now

    def resolve(self, marks: Sequence[Mark]) -> list[float]:
        """Seconds of each mark since the clock was made."""
        return [mark - self._origin for mark in marks]


class CudaClock:
    """Events on the device's current stream."""

    is_remote = True

    def __init__(self, device: torch.device) -> None:
        self._device = device
        self._anchor, self._anchor_s = self.mark(), 0.0

    def mark(self) -> Mark:
        """Records an event on the current stream."""
        event = torch.cuda.Event(enable_timing=True)
        event.record(torch.cuda.current_stream(self._device))
        return event

    def resolve(self, marks: Sequence[Mark]) -> list[float]:
        """Waits for the device, then reads the events.

        CUDA tells a distance in milliseconds in single precision, which after an hour is a
        quarter of a millisecond coarse. So what is far from the last anchor is the next one.
        """
        torch.cuda.synchronize(self._device)
        seconds = []
        for mark in marks:
            since_s = self._anchor.elapsed_time(mark) / 1000
            seconds.append(self._anchor_s + since_s)
            if since_s > ANCHOR_S:
                self._anchor, self._anchor_s = mark, seconds[-1]
        return seconds


def clock_for(device: torch.device, now: Callable[[], float] = time.perf_counter) -> Clock:
    """The clock that partitions a step on ``device``; on the CPU it goes by ``now``."""
    return CudaClock(device) if device.type == "cuda" else HostClock(now)
