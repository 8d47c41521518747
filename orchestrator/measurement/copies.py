"""Copies on a CUDA stream of their own, which overlap the steps."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

import torch


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
