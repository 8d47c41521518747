"""Contamination: load of other processes on a trial's own cores while it was measured.

The kernel counts for each core the time that it was busy, and for each process the time
that it ran. A trial that is bound to its cores runs nowhere else. So the busy time of its
cores beyond the trial's own time went to other processes.

Work at a low priority (``nice`` above 0) that takes only time which the trial leaves idle
does no harm. It counts if the trial's threads have waited for a core as well, or if the
kernel does not report whether they have.
"""

import os
from collections.abc import Mapping, Sequence
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


def read_core_times(cores: Sequence[int], stat: Path = _STAT) -> dict[str, float] | None:
    """Return the times of ``cores`` together since the machine started, see ``proc_stat(5)``.

    Returns:
        Seconds by name: ``busy`` in processes of any priority and in the kernel for them; ``nice``,
        part of that, in processes of a low priority; ``stolen``, in which the hypervisor gave the
        cores to other machines. None where a core cannot be read.
    """
    names = {f"cpu{core}" for core in cores}
    with suppress(OSError, ValueError):
        lines = [line.split() for line in stat.read_text().splitlines()]
        ticks = [list(map(int, line[1:9])) for line in lines if names.intersection(line[:1])]
        if names and len(ticks) == len(names):
            # User mode, user mode at low priority, kernel. Guests are in the first two.
            user, nice, kernel, *_, stolen = (
                _TICK_S * sum(each) for each in zip(*ticks, strict=True)
            )
            return {"busy": user + nice + kernel, "nice": nice, "stolen": stolen}
    return None


@dataclass(frozen=True)
class Contamination:
    """Time of a trial's cores, divided among the trial, others, and the hypervisor.

    Attributes:
        num_cores: Number of its leased cores.
        spent: Seconds by name: those of :func:`read_core_times`; ``at``: time that has passed;
            ``own``: CPU time of the trial's processes; ``overhead``: that of the sweep's driver and
            servers on these cores; ``waited``: time that the trial's threads waited for a core,
            absent where it is not known.
    """

    num_cores: int
    spent: Mapping[str, float]

    def figures(self) -> dict[str, float]:
        """Return shares of the cores' time by metric name; empty where nothing was read."""
        if not self._offered:
            return {}
        seconds = {
            "foreign_share": self._others,
            "steal_share": self.spent["stolen"],
            "run_queue_share": self.spent.get("waited"),
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
        # Time of others that the trial could have used itself.
        idle_work = min(self.spent["nice"], max(self._others, 0.0))
        harmless = max(idle_work - self.spent.get("waited", idle_work), 0.0)
        findings = []
        if self._is_much(self._others - harmless):
            share = self._percent(self._others)
            findings.append(f"{share} of its cores' time went to other processes")
        if self._is_much(self.spent["stolen"]):
            share = self._percent(self.spent["stolen"])
            findings.append(f"{share} of its cores' time was the hypervisor's")
        return findings

    @property
    def _offered(self) -> float:
        return self.num_cores * self.spent["at"] if "busy" in self.spent else 0.0

    @property
    def _others(self) -> float:
        return self.spent["busy"] - self.spent["own"] - self.spent["overhead"]

    def _is_much(self, seconds: float) -> bool:
        share = seconds / self._offered
        is_of_one_core = share >= LEAST_SHARE and share * self.num_cores >= CORE_PART
        return seconds >= LEAST_S and (share >= SHARE or is_of_one_core)

    def _percent(self, seconds: float) -> str:
        share = seconds / self._offered
        return f"{100 * share:.0f} %" if share >= SHARE else f"{100 * share:.1f} %"
