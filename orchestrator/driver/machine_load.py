"""The load of this machine: how much of it is the sweep's own, and how much others'.

The kernel counts for each core the time that it was busy, and for each process the time that it
ran. The rest, without the driver and its descendants, is the time of other processes.
"""

from __future__ import annotations

import os
import time
from collections.abc import Mapping
from typing import Final

from orchestrator.execution.telemetry.contamination import CORE_PART, SHARE, read_core_times
from orchestrator.formats import counted
from orchestrator.system.processes import ProcessTree
from orchestrator.tracking.console.view import Load

PERIOD_S: Final = 2.0
"""Least time between two readings that are shown: it takes milliseconds, and ticks are of 10 ms."""


class MachineLoad:
    """Repeated readings of this machine's load.

    Args:
        root: The process with the sweep's own ones below it. Default: this one.
    """

    def __init__(self, root: int | None = None) -> None:
        self._root = root or os.getpid()
        self._tree = ProcessTree()
        self._cores = sorted(os.sched_getaffinity(0))
        self._before = self._counters()
        self._last: Load | None = None

    def read(self) -> Load | None:
        """Return the load since the last reading; the same again within :data:`PERIOD_S`."""
        before = self._before
        if before and time.monotonic() >= before["at"] + PERIOD_S:
            self._before = self._counters()
            self._last = self._between(before, self._before)
        return self._last

    def busy_note(self) -> str:
        """Return a note where other processes have kept the machine busy, else nothing."""
        before, self._before = self._before, self._counters()
        if (load := self._between(before, self._before)) is None:
            return ""
        if load.others < max(CORE_PART, SHARE * load.num_cores):
            return ""
        cores = counted(load.num_cores, "core")
        return (
            f"other processes use {load.others:.1f} of {cores}: speeds would be those of a busy "
            "machine"
        )

    def _between(self, before: Mapping[str, float], now: Mapping[str, float]) -> Load | None:
        if not before or not now or now["at"] <= before["at"]:
            return None
        spent = {name: now[name] - before[name] for name in now}
        # Processes and cores are counted in separate ticks: a difference may be just below 0.
        own, others = max(0.0, spent["own"]), max(0.0, spent["busy"] - spent["own"])
        passed_s = spent["at"]
        return Load(num_cores=len(self._cores), own=own / passed_s, others=others / passed_s)

    def _counters(self) -> dict[str, float]:
        """Return the counters by name; none where they cannot be read."""
        if (cores := read_core_times(self._cores)) is None:
            return {}
        return {**cores, "own": self._tree.read([self._root]).cpu_s, "at": time.monotonic()}
