"""The load of this machine while a run is prepared: how much of it is that of other processes.

The kernel counts for each core the time that it was busy, and for each process the time that it
ran. The rest, without the driver and its descendants, is the time of other processes.
"""

from __future__ import annotations

import os
import time

from orchestrator.execution.telemetry.contamination import CORE_PART, SHARE, read_core_times
from orchestrator.formats import counted
from orchestrator.system.processes import ProcessTree


class MachineLoad:
    """The load of this machine from now on."""

    def __init__(self) -> None:
        self._tree = ProcessTree()
        self._cores = sorted(os.sched_getaffinity(0))
        self._before = self._counters()

    def busy_note(self) -> str:
        """Return a note where other processes have kept the machine busy, else nothing."""
        before, now, num_cores = self._before, self._counters(), len(self._cores)
        if before is None or now is None or now[0] <= before[0]:
            return ""
        others = (now[1] - before[1]) / (now[0] - before[0])
        if others < max(CORE_PART, SHARE * num_cores):
            return ""
        return (
            f"other processes use {others:.1f} of {counted(num_cores, 'core')}: speeds would be "
            "those of a busy machine"
        )

    def _counters(self) -> tuple[float, float] | None:
        """Return the time, and the time of the cores in others; None if it cannot be read."""
        if (cores := read_core_times(self._cores)) is None:
            return None
        return time.monotonic(), cores["busy"] - self._tree.read([os.getpid()]).cpu_s
