"""Attempt monitor: telemetry of one attempt, its limits of memory and time, and its stalls.

It counts memory without a file behind it: the trial's private pages, and those that
its loader workers share, each counted once. Pages of data sets that are mapped from disk do
not count, since the kernel drops them when it needs room.

The limit is the trial's share, by its cores, of 90 % of the memory of the node or of the
control group, whichever is less. A trial alone on its node has all of that. The kernel and
the control group are the second line: trials have the highest ``oom_score_adj``, so that
they are killed before the driver, Ray and the supervisors.
"""

import os
import time
from collections.abc import Callable, Sequence
from contextlib import suppress
from functools import cache
from pathlib import Path

import psutil

from orchestrator.execution.leases import DRIVER_FROM_CORES, CoreLeases, Lease
from orchestrator.execution.telemetry.sampler import Telemetry
from orchestrator.kernel.executor import Launch, Rank
from orchestrator.system.cgroup import node_bytes
from orchestrator.system.cores import text_of, usable_cores
from orchestrator.system.processes import TreeSample, children_of, cpu_s_of, unshared_bytes
from orchestrator.trial import Isolation, Report

USABLE_SHARE = 0.9
"""Share of the node's memory for trials; the rest is for the driver, Ray and the page cache."""

LEAST_ROOM = 2**28
"""Room on the disk of $TMPDIR, in bytes, below which a trial with more than that in it ends."""

READ_AGAIN_S = 4.0
"""Period of reading the exact figure, which takes 66 ms for a process of 5 GB. A process that
writes to a page which it has shared so far gets a copy: that adds to the exact figure, and nothing
to the sum."""

STALL_LIMIT_S = 3600.0
"""Longest time without a message while the process does next to nothing. An epoch may take longer,
a download or a lock that never comes free should not."""
WORKS_FROM = 0.01
"""Least cores in use by a process that works; idle threads of libraries use less."""

_SERVER = b"orchestrator.execution.process.forkserver"
_OWN = (_SERVER, b"orchestrator.tracking", b"/ray/", b"ray::")
"""Parts of the command lines of fork servers, of the mirror to MLflow, and of Ray."""

_SEARCH_PERIOD_S, _FIRST_PERIOD_S = 5.0, 0.4
"""Period of the search for processes, later and at first: some start during a sweep's first
trials."""


class AttemptMonitor:
    """Samples the processes of one attempt, and compares them with the trial's limits.

    Attributes:
        telemetry: Samples of processes, cores and GPUs so far.
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
            clock: Active time of the trial, s: without the time slices of other trials.
        """
        self.telemetry = Telemetry(
            overhead_s=_overhead_on(lease),
            cores=sorted({core for rank in ranks for core in rank.cores}),
            gpus=sorted({gpu for rank in ranks for gpu in rank.gpus}),
            shares_gpu=launch.demand.shares_gpu,
            by_turns=launch.in_slices,
            num_others=lambda: leases.num_others(lease),
        )
        self._most_bytes, self._basis = _memory_limit(launch, lease, leases)
        self._exact_from_s = float("-inf")
        self._temporary = launch.temporary
        self._lease = lease
        self._clock, self._limit_s, self._began = clock, launch.time_limit_s, clock()
        self._cpu_s = 0.0
        self.message_arrived()

    def message_arrived(self) -> None:
        """Count the time without a message from now on."""
        # CPU time is as of the last sample, which is at most a period of telemetry old.
        self._quiet_from, self._cpu_s_then = self._clock(), self._cpu_s

    def overdue(self) -> str:
        """Return why the trial has taken too long, or an empty string."""
        if self._limit_s is None or self._clock() - self._began <= self._limit_s:
            return ""
        return f"took longer than its time limit of {self._limit_s:g} s"

    def stalled(self) -> str:
        """Return why the process is taken to be stuck, or an empty string.

        A process that worked during the limit gets the same time again.
        """
        quiet_s = self._clock() - self._quiet_from
        if quiet_s <= STALL_LIMIT_S:
            return ""
        works = self._cpu_s - self._cpu_s_then >= WORKS_FROM * quiet_s
        self.message_arrived()
        if works:
            return ""
        used = f"in which it used under {WORKS_FROM:.0%} of a core"
        return f"no report for {STALL_LIMIT_S:g} s, {used}"

    def fills_disk(self) -> str:
        """Return how much the trial has written, in words, if others have no room for it."""
        with suppress(OSError):  # its folder is not there, or not any more
            disk = os.statvfs(self._temporary)
            if (room := disk.f_bavail * disk.f_frsize) < LEAST_ROOM:
                own = sum(path.lstat().st_blocks * 512 for path in self._temporary.rglob("*"))
                if own >= LEAST_ROOM:
                    written = f"{own / 2**30:.2f} GiB in its $TMPDIR"
                    return f"out of disk: {written}, which leaves {room / 2**30:.2f} GiB"
        return ""

    def excess(self, pids: Sequence[int], *, pauses: bool = False) -> str:
        """Sample once a period, and compare the trial's memory with its limit.

        Args:
            pids: One process of each rank.
            pauses: True at the end of a time slice, where a sample is always taken.

        Returns:
            Memory and limit, in words, if it is above the limit; else an empty string.
        """
        sample = self.telemetry.pause(pids) if pauses else self.telemetry.sample(pids)
        if sample is None:
            return ""
        self._cpu_s = sample.cpu_s
        num_bytes = self._exact_bytes(sample)
        if num_bytes is None or num_bytes <= self._most_bytes:
            return ""
        limit = f"the trial's limit of {self._most_bytes / 2**30:.2f} GiB ({self._basis})"
        return f"{num_bytes / 2**30:.2f} GiB of its own, above {limit}"

    def _exact_bytes(self, sample: TreeSample) -> int | None:
        """Return the trial's memory where it may be above the limit.

        The sum over processes is cheap and never too low, as it counts a shared page several
        times. The exact figure is read only above the limit, and read again at times. It is None
        where the processes have ended, or may not be read: the kernel's limits remain.
        """
        now, in_files = time.monotonic(), self.telemetry.shared.num_bytes
        at_most = sample.anonymous_bytes + in_files
        if at_most <= self._most_bytes or now < self._exact_from_s:
            return None
        self._exact_from_s = now + READ_AGAIN_S
        return unshared_bytes(sample.pids, in_files)

    def tags(self) -> dict[str, str]:
        """Return the telemetry's verdicts and the leased cores."""
        is_bound = self._lease.isolation is not Isolation.SHARED
        cores = {"core_ids": text_of(self._lease.cores)} if is_bound else {}
        return {**self.telemetry.tags(), **cores}


def _memory_limit(launch: Launch, lease: Lease, leases: CoreLeases) -> tuple[int, str]:
    """Return the most memory of a trial on this node, in bytes, and its origin, in words."""
    if (asked_gib := launch.memory_gib) is not None:
        return int(asked_gib * 2**30), "what the sweep gives a trial"
    memory, num_cores, node_cores = node_bytes(), len(lease.cores), leases.num_cores
    is_alone = lease.isolation is Isolation.EXCLUSIVE
    part = 1.0 if is_alone else min(num_cores / max(node_cores, 1), 1.0)
    owner = "the node" if part == 1.0 else f"its share: {num_cores} of {node_cores} cores"
    basis = f"{USABLE_SHARE:.0%} of {memory / 2**30:.1f} GiB, {owner}"
    return int(part * USABLE_SHARE * memory), basis


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


class OwnOverhead:
    """CPU time of the processes that run a sweep on this node, without its trials."""

    def __init__(self, root: int | None = None) -> None:
        """Count processes below ``root``, by default below the driver or the node's Ray."""
        self._root = root or _root()
        self._members: dict[int, bool] = {}
        self._searched_s = float("-inf")
        self._period_s = _FIRST_PERIOD_S / 2
        self._cpu_s = 0.0

    def cpu_s(self) -> float:
        """Return the CPU time that they have used so far, in seconds. It never decreases."""
        if time.monotonic() > self._searched_s + self._period_s:
            self._searched_s = time.monotonic()
            self._period_s = min(2 * self._period_s, _SEARCH_PERIOD_S)
            self._members = _members(self._root)
        total = 0.0
        for pid, with_ended in self._members.items():
            with suppress(OSError, ValueError, IndexError):
                total += cpu_s_of(pid, with_ended=with_ended)
        # A member that has ended takes its time with it until its parent has waited for it.
        self._cpu_s = max(self._cpu_s, total)
        return self._cpu_s


@cache
def _root() -> int:
    """Return the driver, the parent of a local Ray; else Ray itself, which was there before."""
    with suppress(psutil.Error):
        for process in psutil.Process().parents():
            # This process is an actor's then: the node's raylet has started it.
            if process.name() == "raylet":
                return process.ppid() if process.ppid() > 1 else process.pid
    return os.getpid()


def _members(root: int) -> dict[int, bool]:
    """Return the processes, each with True if the time of its ended children counts.

    A fork server's children are trials: neither they nor their time is overhead. Nor is
    anything else that the driver may have started.
    """
    members = {root: True}
    unvisited = [root]
    while unvisited:
        for child in children_of(unvisited.pop()):
            command = _command(child)
            if child in members or not any(mark in command for mark in _OWN):
                continue
            is_server = _SERVER in command
            members[child] = not is_server
            unvisited += [] if is_server else [child]
    return members


def _command(pid: int) -> bytes:
    with suppress(OSError):
        return Path(f"/proc/{pid}/cmdline").read_bytes()
    return b""


class Progress:
    """State and time of a trial, for the attempts at it that continue from its checkpoint.

    Attributes:
        began_at: Start of the trial, in seconds since the epoch; None before :meth:`start`.
        last: Last report.
        earlier_epochs: Epochs in the checkpoint of an earlier trial of the curve; 0: without one.
    """

    def __init__(self, earlier_epochs: int = 0) -> None:
        """Stand at 0 s until :meth:`start`."""
        self.began_at: float | None = None
        self.last: Report | None = None
        self.earlier_epochs = earlier_epochs
        self._active_s = 0.0
        self._since: float | None = None

    def start(self) -> None:
        """Count, from now on or after a pause. No effect while it counts, as at a retry."""
        if self.began_at is None:
            # The one reading of the wall clock. Durations go by a clock that is never set.
            self.began_at = time.time()
        self._since = time.monotonic() if self._since is None else self._since

    def now(self) -> float:
        """Return the seconds that the trial has run, without those of pauses."""
        return self._active_s + (0.0 if self._since is None else time.monotonic() - self._since)

    def pause(self) -> None:
        """Stop counting: the time slices of other trials begin."""
        self._active_s, self._since = self.now(), None
