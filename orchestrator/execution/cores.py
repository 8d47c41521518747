"""Cores of one's own: leases of a node's cores, released by the kernel when a holder dies.

One lock file a core in a folder that is local to the host, taken with ``flock``: all of
the cores asked for or none. Descriptors of the locks stay in the supervisor and are never
inherited by a training process, so a lease ends with its supervisor.
"""

from __future__ import annotations

import fcntl
import os
import random
import tempfile
import time
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import IO

from orchestrator.sweep import Isolation

_BACK_OFF_S = (0.02, 0.2)
_NODE_LOCK = "node.lock"


@dataclass(kw_only=True)
class Lease:
    """Cores that are this process's own until :meth:`release`.

    Attributes:
        cores: Their numbers, ascending.
        isolation: What was really granted.
        note: Why it is less than what was asked for, or empty.
    """

    cores: tuple[int, ...]
    isolation: Isolation
    note: str = ""
    _locks: list[IO[str]] = field(default_factory=list)

    def release(self) -> None:
        """Gives the cores back."""
        for lock in self._locks:
            lock.close()
        self._locks.clear()


def usable_cores() -> tuple[int, ...]:
    """Cores that this process may run on, within its CPU quota if it has one."""
    allowed = sorted(os.sched_getaffinity(0))
    quota = cpu_quota(Path("/sys/fs/cgroup"))
    return tuple(allowed if quota is None else allowed[: max(int(quota), 1)])


def cpu_quota(cgroup: Path) -> float | None:
    """CPUs that a cgroup (version 2 or 1) may use at a time, or None for no limit."""
    with suppress(OSError, ValueError):
        quota, period = (cgroup / "cpu.max").read_text().split()
        return None if quota == "max" else int(quota) / int(period)
    with suppress(OSError, ValueError):
        used = int((cgroup / "cpu/cpu.cfs_quota_us").read_text())
        return None if used < 0 else used / int((cgroup / "cpu/cpu.cfs_period_us").read_text())
    return None


def lease_folder() -> Path:
    """The host-local folder of this user's core locks, ``$SWEEP_LEASES`` where that is set."""
    if named := os.environ.get("SWEEP_LEASES"):
        return Path(named)
    return Path(tempfile.gettempdir()) / f"sweep-cores-{os.getuid()}"


class CoreLeases:
    """Leases cores of this node to trials of any number of sweeps."""

    def __init__(self, folder: Path | None = None, cores: Sequence[int] | None = None) -> None:
        """Leases out ``cores``, by default all that this process may use."""
        self._folder = folder or lease_folder()
        self._cores = tuple(cores) if cores is not None else usable_cores()

    def acquire(self, count: int, isolation: Isolation, *, timeout_s: float) -> Lease | None:
        """Waits for ``count`` cores; None where they did not come free in time.

        Asks for the whole node where it has fewer. Where leasing is not possible (no
        permission to write the lock folder) the lease says ``shared`` and why.
        """
        count = min(count, len(self._cores))
        if isolation is Isolation.SHARED:
            return Lease(cores=self._cores[:count], isolation=Isolation.SHARED)
        try:
            self._folder.mkdir(mode=0o700, parents=True, exist_ok=True)
            return self._wait(count, isolation, time.monotonic() + timeout_s)
        except PermissionError as error:
            note = f"cores cannot be leased: {error.strerror}: {error.filename}"
            return Lease(cores=self._cores[:count], isolation=Isolation.SHARED, note=note)

    def _wait(self, count: int, isolation: Isolation, deadline: float) -> Lease | None:
        while True:
            lease = self._try(count, isolation)
            if lease is not None or time.monotonic() >= deadline:
                return lease
            time.sleep(random.uniform(*_BACK_OFF_S))

    def _try(self, count: int, isolation: Isolation) -> Lease | None:
        """All or nothing, so that two sweeps never hold half each of what both need."""
        alone = isolation is Isolation.EXCLUSIVE
        locks: list[IO[str]] = []
        node = self._lock(_NODE_LOCK, fcntl.LOCK_EX if alone else fcntl.LOCK_SH)
        if node is None:
            return None
        locks.append(node)
        cores: list[int] = []
        for core in self._cores:
            if len(cores) == count:
                break
            lock = self._lock(f"core-{core}.lock", fcntl.LOCK_EX)
            if lock is not None:
                locks.append(lock)
                cores.append(core)
        lease = Lease(cores=tuple(cores), isolation=isolation, _locks=locks)
        if len(cores) == count:
            return lease
        lease.release()
        return None

    def _lock(self, name: str, kind: int) -> IO[str] | None:
        file = (self._folder / name).open("a")
        try:
            fcntl.flock(file, kind | fcntl.LOCK_NB)
        except BlockingIOError:
            file.close()
            return None
        return file
