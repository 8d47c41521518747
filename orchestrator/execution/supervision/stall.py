"""Whether a training process that says nothing works or is stuck."""

from __future__ import annotations

import time
from collections.abc import Callable

STALL_LIMIT_S = 3600.0
"""How long a process may say nothing while it does next to nothing. An epoch may take longer,
a download or a lock that never comes free should not."""
LIMIT_INTERLEAVED_S = 120.0
"""The same where the others are stopped meanwhile: one of them may hold what it waits for, a lock
or a port, and will not give it back."""
WORKS_FROM = 0.01
"""Cores in use from which on a process works; threads of libraries that wait use less."""


class StallDetector:
    """Time since a process last reported, and what it has done meanwhile."""

    def __init__(
        self, clock: Callable[[], float] = time.monotonic, *, interleaved: bool = False
    ) -> None:
        """It begins now.

        Args:
            clock: Seconds from any origin.
            interleaved: Whether the process takes turns with others, and this is one of its own.
        """
        self._clock = clock
        self._limit_s = LIMIT_INTERLEAVED_S if interleaved else STALL_LIMIT_S
        self._interleaved = interleaved
        self._since = clock()
        self._cpu_s_then = self._cpu_s = 0.0

    def heard(self) -> None:
        """The process has said something."""
        self._since, self._cpu_s_then = self._clock(), self._cpu_s

    def look(self, cpu_s: float) -> None:
        """The process has used so much CPU time so far."""
        self._cpu_s = cpu_s

    def stuck(self) -> str:
        """Why it is taken to be stuck, or nothing; a limit in which it worked counts anew."""
        silent_s = self._clock() - self._since
        if silent_s <= self._limit_s:
            return ""
        works = self._cpu_s - self._cpu_s_then >= WORKS_FROM * silent_s
        self.heard()
        used = f"in which it used under {WORKS_FROM:.0%} of a core"
        held = (
            ": it may wait for what one holds that takes turns with it" if self._interleaved else ""
        )
        return "" if works else f"no report for {self._limit_s:g} s, {used}{held}"
