"""Contamination: load of other processes on a trial's own cores while it was measured.

The kernel counts for each core the time that it was busy, and for each process the time
that it ran. A trial that is bound to its cores runs nowhere else. So the busy time of its
cores beyond the trial's own time went to other processes.

Work at a low priority (``nice`` above 0) that takes only time which the trial leaves idle
does no harm. It counts if the trial's threads have waited for a core as well, or if the
kernel does not report whether they have.
"""

from __future__ import annotations

import os
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

_STAT = Path("/proc/stat")
_TICK_S = 1 / os.sysconf("SC_CLK_TCK")

SHARE = 0.05
"""Least share of the cores' time, spent on others, that contaminates a trial. The kernel
counts in ticks, and its own threads do work for the trial: a share of 1 % is common on a quiet
node."""
CORE_PART, LEAST_SHARE = 0.25, 0.015
"""On many cores it is enough if others took this part of one core, on average, and this share of
all: an operation that is spread over the cores waits for the slowest of them."""
LEAST_S = 0.25
"""Least time to judge by, and least of others that counts: less is too few kernel ticks."""


@dataclass(frozen=True, kw_only=True)
class CoreTimes:
    """Time of some cores since the machine started, in seconds.

    Attributes:
        busy: Time in processes of any priority, and in the kernel for them.
        nice: Part of that in processes of a low priority.
        stolen: Time of other machines, to which the hypervisor gave the cores.
    """

    busy: float
    nice: float
    stolen: float


def read_core_times(cores: Sequence[int], stat: Path = _STAT) -> CoreTimes | None:
    """Return the sum over ``cores``, see ``proc_stat(5)``; None where one cannot be read."""
    names = {f"cpu{core}" for core in cores}
    busy = nice = stolen = 0
    num_read = 0
    with suppress(OSError, ValueError, IndexError):
        for line in stat.read_text().splitlines():
            name, *fields = line.split()
            if name not in names:
                continue
            ticks = [int(text) for text in fields]
            num_read += 1
            # User mode, user mode at low priority, kernel. Guests are in the first two.
            busy += ticks[0] + ticks[1] + ticks[2]
            nice += ticks[1]
            stolen += ticks[7]
    if not names or num_read < len(names):
        return None
    return CoreTimes(busy=busy * _TICK_S, nice=nice * _TICK_S, stolen=stolen * _TICK_S)


@dataclass(frozen=True, kw_only=True)
class CounterSample:
    """Counters at one moment, in seconds. All but the clock only grow.

    Attributes:
        at: The monotonic clock.
        cores: Times of the trial's cores.
        own: CPU time of the trial's processes.
        waited: Time that their threads waited for a core; None where it is not known.
        overhead: CPU time of the sweep's own driver and servers on these cores.
    """

    at: float
    cores: CoreTimes
    own: float
    waited: float | None
    overhead: float = 0.0


class Contamination:
    """Time of a trial's cores, divided among the trial, others, and the hypervisor."""

    def __init__(self, num_cores: int) -> None:
        """Begin without a sample, for a trial on ``num_cores`` leased cores."""
        self._num_cores = num_cores
        self._before: CounterSample | None = None
        self._offered = self._others = self._others_nice = 0.0
        self._stolen = self._own = 0.0
        self._waited: float | None = None

    def add(self, sample: CounterSample) -> None:
        """Add the time since the sample before, if there was one."""
        before, self._before = self._before, sample
        if before is None:
            return
        self._offered += (sample.at - before.at) * self._num_cores
        own = sample.own - before.own
        nice = sample.cores.nice - before.cores.nice
        self._own += own
        overhead = sample.overhead - before.overhead
        self._others += sample.cores.busy - before.cores.busy - own - overhead
        self._others_nice += nice
        self._stolen += sample.cores.stolen - before.cores.stolen
        if sample.waited is not None:
            self._waited = (self._waited or 0.0) + sample.waited - (before.waited or 0.0)

    def skip(self) -> None:
        """Leave out the time until the next sample, which is the time slice of other trials."""
        self._before = None

    def figures(self) -> dict[str, float]:
        """Return shares of the cores' time by metric name; empty where nothing was read."""
        if not self._offered:
            return {}
        seconds = {
            "foreign_share": self._others,
            "steal_share": self._stolen,
            "run_queue_share": self._waited,
        }
        return {
            # Cores and processes are counted in separate ticks: a difference may be just below 0.
            name: max(spent, 0.0) / self._offered
            for name, spent in seconds.items()
            if spent is not None
        }

    def findings(self) -> list[str] | None:
        """Return what contaminated the trial, in words; None where too little is known."""
        if self._offered < LEAST_S:
            return None
        findings = []
        if self._is_much(self._harmful):
            findings.append(
                f"{self._percent(self._others)} of its cores' time went to other processes"
            )
        if self._is_much(self._stolen):
            findings.append(
                f"{self._percent(self._stolen)} of its cores' time was the hypervisor's"
            )
        return findings

    @property
    def _harmful(self) -> float:
        """Time of others that the trial could have used itself."""
        idle_work = min(self._others_nice, max(self._others, 0.0))
        harmless = 0.0 if self._waited is None else max(idle_work - self._waited, 0.0)
        return self._others - harmless

    def _is_much(self, seconds: float) -> bool:
        share = seconds / self._offered
        is_of_one_core = share >= LEAST_SHARE and share * self._num_cores >= CORE_PART
        return seconds >= LEAST_S and (share >= SHARE or is_of_one_core)

    def _percent(self, seconds: float) -> str:
        share = seconds / self._offered
        return f"{100 * share:.0f} %" if share >= SHARE else f"{100 * share:.1f} %"
