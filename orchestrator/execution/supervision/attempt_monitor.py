"""What a supervisor keeps an eye on during one attempt at a trial."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from orchestrator.execution.base import Launch, Rank
from orchestrator.execution.core_policy import DRIVER_FROM_CORES
from orchestrator.execution.leases import CoreLeases, Lease
from orchestrator.execution.supervision.memory_guard import MemoryGuard, limit_of_trial
from orchestrator.execution.supervision.stall import StallDetector
from orchestrator.execution.telemetry.own_overhead import OwnOverhead
from orchestrator.execution.telemetry.sampler import Telemetry
from orchestrator.system.cores import usable_cores
from orchestrator.system.processes import TreeSample
from orchestrator.system.topology import text_of
from orchestrator.trial import Isolation


class AttemptMonitor:
    """Telemetry, memory guard and signs of life of one attempt."""

    def __init__(
        self,
        launch: Launch,
        ranks: Sequence[Rank],
        lease: Lease,
        leases: CoreLeases,
        clock: Callable[[], float],
    ) -> None:
        """Watches ``ranks`` of ``launch`` on the cores of ``lease``, by the trial's ``clock``."""
        self.telemetry = Telemetry(
            overhead_s=_overhead_on(lease),
            cores=sorted({core for rank in ranks for core in rank.cores}),
            gpus=sorted({gpu for rank in ranks for gpu in rank.gpus}),
            num_others=lambda: leases.num_others(lease),
        )
        self._limit = limit_of_trial(
            launch.memory_limit_gib,
            num_cores=len(lease.cores),
            node_cores=leases.num_cores,
            isolated=lease.isolation is Isolation.EXCLUSIVE,
        )
        self._guard = MemoryGuard(self._limit)
        self._lease = lease
        self._interleaved, self._has_paused = launch.interleaved, False
        self._clock, self._limit_s = clock, launch.time_limit_s
        self.begins()

    def begins(self) -> None:
        """The first process runs from now on."""
        self._began = self._clock()
        self.stall = StallDetector(self._clock, interleaved=self._interleaved)

    def overdue(self) -> str:
        """Why the trial has taken too long, or nothing."""
        if self._limit_s is None or self._clock() - self._began <= self._limit_s:
            return ""
        return f"took longer than its time limit of {self._limit_s:g} s"

    def look(self, pids: Sequence[int]) -> int | None:
        """Reads what it is time to read; the trial's memory in bytes where that is too much."""
        return self._judged(self.telemetry.sample(pids))

    def pause(self, pids: Sequence[int]) -> int | None:
        """The same although it may not be time to: others' turns come now."""
        self._has_paused = True
        return self._judged(self.telemetry.pause(pids))

    def _judged(self, seen: TreeSample | None) -> int | None:
        if seen is None:
            return None
        self.stall.look(seen.cpu_s)
        return self._guard.exceeded(seen)

    def without_cores(self) -> None:
        """A process could not be bound: the trial has no cores of its own after all."""
        self._lease.isolation = Isolation.SHARED
        self.telemetry.unbound()

    def look_now(self, pids: Sequence[int]) -> None:
        """Reads although it may not be time to: its turn begins, or it has ended."""
        self.telemetry.sample(pids, now=True)

    def tags(self) -> dict[str, str]:
        """Verdicts by name, the cores that it had of its own, and whether it has taken turns."""
        own = self._lease.isolation is not Isolation.SHARED
        cores = {"core_ids": text_of(self._lease.cores)} if own else {}
        turns = {"interleaved": "true"} if self._has_paused else {}
        return {**self.telemetry.tags(), **cores, **turns}

    def over_limit(self, num_bytes: int, where: str) -> str:
        """Why a trial with so much memory is infeasible."""
        assert self._limit is not None
        return (
            f"out of memory {where}: {num_bytes / 2**30:.2f} GiB of its own, above the trial's "
            f"limit of {self._limit.num_bytes / 2**30:.2f} GiB ({self._limit.basis})"
        )


def _overhead_on(lease: Lease) -> Callable[[], float]:
    """CPU time of the driver and the like on these cores: their part of it, none if one is kept."""
    num_usable = len(usable_cores())
    if num_usable >= DRIVER_FROM_CORES:
        return lambda: 0.0
    overhead, part = OwnOverhead(), len(lease.cores) / num_usable
    return lambda: part * overhead.cpu_s()
