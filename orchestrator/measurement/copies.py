"""Copies on a CUDA stream of their own: beside the steps, since they overlap them."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

import torch


class Copies:
    """Adds up how long copies took, read when an epoch has ended.

    Attributes:
        total_s: Seconds of all copies so far; None where none was counted.
        are_waited_for: Whether what fetches the next batch waits for each.
    """

    def __init__(self) -> None:
        self.total_s: float | None = None
        self.are_waited_for = False
        self._pending: list[tuple[torch.cuda.Event, torch.cuda.Event]] = []

    @contextmanager
    def on(self, stream: torch.cuda.Stream, *, is_waited_for: bool = False) -> Iterator[None]:
        """Counts what is put on ``stream`` within it."""
        self.are_waited_for |= is_waited_for
        begin, end = (torch.cuda.Event(enable_timing=True) for _ in range(2))
        begin.record(stream)
        yield
        end.record(stream)
        self._pending.append((begin, end))

    def epoch_ends(self) -> None:
        """Waits for the copies that were started, and adds them up."""
        if not self._pending:
            return
        pending, self._pending = self._pending, []
        for begin, end in pending:
            end.synchronize()
            self.total_s = (self.total_s or 0.0) + begin.elapsed_time(end) / 1000
