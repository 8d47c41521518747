"""Stall detector: tells a training process that is stuck from one that works on a long step."""

from __future__ import annotations

import time
from collections.abc import Callable

STALL_LIMIT_S = 3600.0
"""Longest time without a message while the process does next to nothing. An epoch may take longer,
a download or a lock that never comes free should not."""
LIMIT_INTERLEAVED_S = 120.0
"""The same limit for interleaved trials. Those it alternates with are stopped meanwhile: one of
them may hold the lock or port that the trial waits for, and will not release it."""
WORKS_FROM = 0.01
"""Cores in use from which on a process works; idle threads of libraries use less."""


class StallDetector:
    """Time since the last message of a process, and CPU time that it used meanwhile."""

    def __init__(
        self, clock: Callable[[], float] = time.monotonic, *, interleaved: bool = False
    ) -> None:
        """Begin to count.

        Args:
            clock: Seconds from any origin, without the time slices of other trials.
            interleaved: True if the process alternates with others on its cores.
        """
        self._clock = clock
        self._limit_s = LIMIT_INTERLEAVED_S if interleaved else STALL_LIMIT_S
        self._interleaved = interleaved
        self._since = clock()
        self._cpu_s_then = self._cpu_s = 0.0

    def message_arrived(self) -> None:
        """Count anew from now on."""
        # CPU time is as of the last sample, which is at most a period of telemetry old.
        self._since, self._cpu_s_then = self._clock(), self._cpu_s

    def update(self, cpu_s: float) -> None:
        """Take in the CPU time that the process has used since it began."""
        self._cpu_s = cpu_s

    def reason(self) -> str:
        """Return why the process is taken to be stuck, or an empty string.

        A process that worked during the limit is given the same time again.
        """
        quiet_s = self._clock() - self._since
        if quiet_s <= self._limit_s:
            return ""
        works = self._cpu_s - self._cpu_s_then >= WORKS_FROM * quiet_s
        self.message_arrived()
        if works:
            return ""
        used = f"in which it used under {WORKS_FROM:.0%} of a core"
        cause = ": it may wait for what an interleaved trial holds" if self._interleaved else ""
        return f"no report for {self._limit_s:g} s, {used}{cause}"
