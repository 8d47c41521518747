"""A trial's own time: it stands still while it is others' turn."""

from __future__ import annotations

import time


class ActiveClock:
    """Seconds that a trial has had, in its turns or all along."""

    def __init__(self) -> None:
        """It begins now."""
        self._others_s = 0.0
        self._paused_at: float | None = None
        self._began = time.monotonic()

    def now(self) -> float:
        """Seconds since it began, without those of the others' turns."""
        until = time.monotonic() if self._paused_at is None else self._paused_at
        return until - self._began - self._others_s

    def pause(self) -> None:
        """Others' turns begin."""
        self._paused_at = time.monotonic()

    def resume(self) -> None:
        """They have ended."""
        if self._paused_at is not None:
            self._others_s += time.monotonic() - self._paused_at
            self._paused_at = None
