"""Active clock: time of a trial without the time slices of the trials that it alternates with."""

from __future__ import annotations

import time


class ActiveClock:
    """Seconds that a trial has run, in its time slices or all along.

    Attributes:
        began_at: Start of the trial, in seconds since the epoch; None before :meth:`start`.
    """

    def __init__(self) -> None:
        """Stand at 0 until :meth:`start`."""
        self.began_at: float | None = None
        self._began = self._paused_at = time.monotonic()
        self._is_paused = True
        self._paused_s = 0.0

    def start(self) -> None:
        """Begin to count. A clock that counts already, as at a retry, goes on."""
        if self.began_at is None:
            # The one reading of the wall clock. Durations go by a clock that is never set.
            self.began_at = time.time()
            self.resume()

    def now(self) -> float:
        """Return the seconds since the start, without those of pauses."""
        until = self._paused_at if self._is_paused else time.monotonic()
        return until - self._began - self._paused_s

    def pause(self) -> None:
        """Stop counting: the time slices of other trials begin."""
        self._paused_at = time.monotonic()
        self._is_paused = True

    def resume(self) -> None:
        """Count again. No effect on a clock that counts."""
        if self._is_paused:
            self._paused_s += time.monotonic() - self._paused_at
            self._is_paused = False
