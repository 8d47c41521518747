"""Attempt monitor: telemetry, memory guard, time limit and stall detector of one attempt."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence

from orchestrator.execution.leases import DRIVER_FROM_CORES, CoreLeases, Lease
from orchestrator.execution.supervision.memory_guard import MemoryGuard, limit_of_trial
from orchestrator.execution.telemetry.own_overhead import OwnOverhead
from orchestrator.execution.telemetry.sampler import Telemetry
from orchestrator.kernel.executor import Launch, Rank
from orchestrator.system.cores import text_of, usable_cores
from orchestrator.system.processes import TreeSample
from orchestrator.trial import Isolation


class AttemptMonitor:
    """Samples the processes of one attempt, and compares them with the trial's limits.

    Attributes:
        telemetry: Samples of processes, cores and GPUs so far.
        stall: Time since the last message.
    """

    def __init__(
        self,
        launch: Launch,
        ranks: Sequence[Rank],
        lease: Lease,
        leases: CoreLeases,
        clock: Callable[[], float],
    ) -> None:
        """Prepare to monitor ``ranks`` of ``launch`` on the cores of ``lease``.

        Args:
            launch: The trial.
            ranks: Its processes' cores and GPUs.
            lease: Its cores.
            leases: All cores of the node.
            clock: Active time of the trial, s.
        """
        self.telemetry = Telemetry(
            overhead_s=_overhead_on(lease),
            cores=sorted({core for rank in ranks for core in rank.cores}),
            gpus=sorted({gpu for rank in ranks for gpu in rank.gpus}),
            num_others=lambda: leases.num_others(lease),
        )
        self._limit = limit_of_trial(
            launch.limits.memory_gib,
            num_cores=len(lease.cores),
            node_cores=leases.num_cores,
            isolated=lease.isolation is Isolation.EXCLUSIVE,
        )
        self._guard = MemoryGuard(self._limit)
        self._lease = lease
        self._has_paused = False
        self._clock, self._limit_s = clock, launch.limits.time_limit_s
        # So that it can be read at any time. The start that counts comes with the processes.
        self.start()

    def start(self) -> None:
        """Count the time limit and the time without a message from now on."""
        self._began = self._clock()
        self.stall = StallDetector(self._clock)

    def overdue(self) -> str:
        """Return why the trial has taken too long, or an empty string."""
        if self._limit_s is None or self._clock() - self._began <= self._limit_s:
            return ""
        return f"took longer than its time limit of {self._limit_s:g} s"

    def excess(self, pids: Sequence[int]) -> int | None:
        """Sample if the period since the last sample has passed.

        Args:
            pids: One process of each rank.

        Returns:
            The trial's memory in bytes if that is above its limit, else None.
        """
        return self._excess_in(self.telemetry.sample(pids))

    def pause(self, pids: Sequence[int]) -> int | None:
        """Sample at the end of a time slice; return as :meth:`excess` does."""
        self._has_paused = True
        return self._excess_in(self.telemetry.pause(pids))

    def sample(self, pids: Sequence[int]) -> None:
        """Sample now: a time slice begins, or the training has ended."""
        self.telemetry.sample(pids, now=True)

    def tags(self) -> dict[str, str]:
        """Return the telemetry's verdicts, the leased cores, and whether it was interleaved."""
        is_bound = self._lease.isolation is not Isolation.SHARED
        cores = {"core_ids": text_of(self._lease.cores)} if is_bound else {}
        interleaved = {"interleaved": "true"} if self._has_paused else {}
        return {**self.telemetry.tags(), **cores, **interleaved}

    def memory_reason(self, num_bytes: int, at: str) -> str:
        """Return why a trial with so much memory is infeasible.

        Args:
            num_bytes: Its memory.
            at: Position in the training, in words.
        """
        return (
            f"out of memory {at}: {num_bytes / 2**30:.2f} GiB of its own, above the trial's "
            f"limit of {self._limit.num_bytes / 2**30:.2f} GiB ({self._limit.basis})"
        )

    def _excess_in(self, sample: TreeSample | None) -> int | None:
        if sample is None:
            return None
        self.stall.update(sample.cpu_s)
        return self._guard.exceeded(sample)


def _overhead_on(lease: Lease) -> Callable[[], float]:
    """Return a reader of the CPU time of the driver, Ray and fork servers on these cores.

    They run anywhere on the node, so their time is divided by the share of cores. If a core is
    kept for them they do not run on trials' cores at all.
    """
    num_usable = len(usable_cores())
    if num_usable >= DRIVER_FROM_CORES:
        return lambda: 0.0
    overhead, share = OwnOverhead(), len(lease.cores) / num_usable
    return lambda: share * overhead.cpu_s()


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
        """Begin to count. A clock that counts already, as at a retry, continues."""
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


STALL_LIMIT_S = 3600.0
"""Longest time without a message while the process does next to nothing. An epoch may take longer,
a download or a lock that never comes free should not."""
WORKS_FROM = 0.01
"""Least cores in use by a process that works; idle threads of libraries use less."""


class StallDetector:
    """Time since the last message of a process, and CPU time that it used meanwhile."""

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        """Begin to count on ``clock``, which leaves out the time slices of other trials."""
        self._clock = clock
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

        A process that worked during the limit gets the same time again.
        """
        quiet_s = self._clock() - self._since
        if quiet_s <= STALL_LIMIT_S:
            return ""
        works = self._cpu_s - self._cpu_s_then >= WORKS_FROM * quiet_s
        self.message_arrived()
        if works:
            return ""
        used = f"in which it used under {WORKS_FROM:.0%} of a core"
        return f"no report for {STALL_LIMIT_S:g} s, {used}"
