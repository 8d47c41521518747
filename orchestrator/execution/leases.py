"""Cores of one's own: leases of a node's cores, released by the kernel when a holder dies.

One lock file a core in a folder that is local to the host, taken with ``flock``: all of
the cores asked for or none. Descriptors of the locks stay in the supervisor and are never
inherited by a training process, so a lease ends with its supervisor.

Who chooses holds the gate meanwhile, so that two who choose at once never hold half each
of what both need. Who wants the node alone keeps the gate while it waits, however often it
asks: those who run may finish, and nobody new comes in before it.
"""

from __future__ import annotations

import fcntl
import os
import random
import tempfile
import time
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, suppress
from dataclasses import dataclass, field
from pathlib import Path

from orchestrator.execution.core_policy import leasable_cores, trial_cores
from orchestrator.system.containers import is_private
from orchestrator.system.cores import binding_refused
from orchestrator.system.topology import Topology, choose, read_topology
from orchestrator.trial import Isolation

_BACK_OFF_S = (0.02, 0.2)
_GATE, _NODE = "gate.lock", "node.lock"
_LOCKS = Path("/proc/locks")
_VARIABLE = "SWEEP_LEASES"


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
    _locks: ExitStack = field(default_factory=ExitStack)

    def release(self) -> None:
        """Gives the cores back."""
        self._locks.close()


@dataclass(kw_only=True)
class Place:
    """A place before a node's cores: who wants the node alone keeps it from call to call."""

    is_first: bool = False
    locks: ExitStack = field(default_factory=ExitStack)

    def leave(self) -> None:
        """Lets others come first. Safe to call more than once."""
        self.locks.close()
        self.is_first = False


def is_named() -> bool:
    """Whether somebody has said where the locks are, and so answers for who sees them."""
    return bool(os.environ.get(_VARIABLE))


def lease_folder() -> Path:
    """The host-local folder of the core locks, ``$SWEEP_LEASES`` where that is set.

    It is one for all users of the node, whatever their own temporary folders are.
    """
    if is_named():
        return Path(os.environ[_VARIABLE])
    common = Path("/tmp")
    return (common if common.is_dir() else Path(tempfile.gettempdir())) / "sweep-cores"


class CoreLeases:
    """Leases cores of this node to trials of any number of sweeps."""

    def __init__(
        self,
        folder: Path | None = None,
        cores: Sequence[int] | None = None,
        topology: Topology | None = None,
    ) -> None:
        """Leases out ``cores``, by default those of this node, as many as trials may have."""
        self._folder = folder or lease_folder()
        self._is_private = folder is None and not is_named() and is_private(self._folder)
        self._cores = tuple(cores) if cores is not None else leasable_cores()
        self._most = len(self._cores) if cores is not None else len(trial_cores())
        self._topology = topology or read_topology(self._cores)

    @property
    def num_cores(self) -> int:
        """Cores of this node that trials may have."""
        return self._most

    def acquire(
        self,
        count: int,
        isolation: Isolation,
        *,
        timeout_s: float,
        place: Place | None = None,
    ) -> Lease | None:
        """Waits for ``count`` cores; None where they did not come free in time.

        Asks for the whole node where it has fewer. Where leasing is not possible (no
        permission to write the lock folder, or to bind a process; a folder that other
        containers do not see) the lease says ``shared`` and why.

        Args:
            count: How many.
            isolation: How far to keep from others.
            timeout_s: How long to wait, s.
            place: Where a call begins and, if it comes to nothing, the next one goes on; to be
                left by who waits no longer. Default: the place is lost with the call.
        """
        count = min(count, self._most)
        reason, deadline = self._why_not(), time.monotonic() + timeout_s
        granted = Isolation.SHARED if reason else isolation
        own = Place()
        try:
            _make_common(self._folder)
            lease = self._wait(count, granted, deadline, place or own)
        except OSError as error:
            reason = reason or f"{error.strerror}: {error.filename or self._folder}"
            lease = Lease(cores=self._cores[:count], isolation=Isolation.SHARED)
        finally:
            own.leave()
        if lease is not None and reason and isolation is not Isolation.SHARED:
            lease.note = f"cores cannot be leased: {reason}"
        return lease

    def _why_not(self) -> str:
        """Why no cores can be leased here whatever the folder allows, or empty."""
        if reason := binding_refused(self._cores):
            return f"processes cannot be bound to them: {reason}"
        if self._is_private:
            return (
                f"{self._folder} is this container's own, so that others on the same cores are not "
                "seen; name a folder of the host in $SWEEP_LEASES, or any where there are no others"
            )
        return ""

    def num_others(self, lease: Lease) -> int | None:
        """Cores of this node that others have leased now, or None where that is not known.

        Beside a lease that is ``shared`` others may run that have leased nothing either.
        """
        if lease.isolation is Isolation.SHARED:
            return None
        try:
            files = {core: self._folder / _name(core) for core in self._cores}
            cores = {file.stat().st_ino: core for core, file in files.items() if file.exists()}
            held = [(disk, cores[inode]) for disk, inode in _locked_files() if inode in cores]
        except (OSError, ValueError, IndexError):
            return None
        # Files of other disks may have the same numbers.
        own = {disk for disk, core in held if core in lease.cores}
        return len({core for disk, core in held if disk in own} - set(lease.cores)) if own else None

    def _wait(
        self, count: int, isolation: Isolation, deadline: float, place: Place
    ) -> Lease | None:
        while True:
            place.is_first = place.is_first or self._lock(place.locks, _GATE, fcntl.LOCK_EX)
            lease = self._take(count, isolation) if place.is_first else None
            if lease is not None or isolation is not Isolation.EXCLUSIVE:
                place.leave()
            if lease is not None or time.monotonic() >= deadline:
                return lease
            time.sleep(random.uniform(*_BACK_OFF_S))

    def _take(self, count: int, isolation: Isolation) -> Lease | None:
        """All or nothing, and only while this process holds the gate."""
        isolated = isolation is Isolation.EXCLUSIVE
        with ExitStack() as locks:
            if not self._lock(locks, _NODE, fcntl.LOCK_EX if isolated else fcntl.LOCK_SH):
                return None
            cores: tuple[int, ...] | None = self._cores[:count]
            if isolation is not Isolation.SHARED:
                cores = self._lock_cores(locks, count)
            if cores is None:
                return None
            return Lease(cores=cores, isolation=isolation, _locks=locks.pop_all())

    def _lock_cores(self, locks: ExitStack, count: int) -> tuple[int, ...] | None:
        with ExitStack() as not_taken:
            free: dict[int, ExitStack] = {}
            for core in self._cores:
                lock = not_taken.enter_context(ExitStack())
                if self._lock(lock, _name(core), fcntl.LOCK_EX):
                    free[core] = lock
            chosen = choose(free, count, self._topology)
            for core in chosen or ():
                locks.push(free[core].pop_all())
            return chosen

    def _lock(self, locks: ExitStack, name: str, kind: int) -> bool:
        """Takes a lock into ``locks`` unless someone else has it."""
        descriptor = _opened(self._folder / name)
        try:
            fcntl.flock(descriptor, kind | fcntl.LOCK_NB)
        except BlockingIOError:
            os.close(descriptor)
            return False
        except OSError:
            os.close(descriptor)
            raise
        locks.callback(os.close, descriptor)
        return True


def _locked_files() -> Iterator[tuple[str, int]]:
    """Disk and inode of each file that somebody has locked for themselves, see ``proc(5)``."""
    for line in _LOCKS.read_text().splitlines():
        if " FLOCK " in line and " WRITE " in line and "->" not in line:
            disk, _, inode = line.split()[5].rpartition(":")
            yield disk, int(inode)


def _name(core: int) -> str:
    return f"core-{core}.lock"


def _make_common(folder: Path) -> None:
    """Makes the folder, and lets other users lock in it."""
    try:
        folder.mkdir(parents=True)
    except FileExistsError:
        return
    with suppress(PermissionError):
        folder.chmod(0o1777)


def _opened(path: Path) -> int:
    """A descriptor to lock by. Reading is enough, so another user's file serves as well.

    A file is created apart from opening it: where ``fs.protected_regular`` is set, opening
    another user's file with ``O_CREAT`` is refused.
    """
    flags = os.O_RDONLY | os.O_CLOEXEC | os.O_NOFOLLOW
    while True:
        with suppress(FileNotFoundError):
            return os.open(path, flags)
        with suppress(FileExistsError):
            descriptor = os.open(path, flags | os.O_CREAT | os.O_EXCL, 0o644)
            os.fchmod(descriptor, 0o644)  # whatever the umask is
            return descriptor
