"""Leases: cores of a node that belong to one trial until they are released.

A lease has all cores that were requested, or none. Leases are granted in the order in which they
were asked for, over all processes of the node: only the first in the queue chooses. So no two
processes each take half of what both need, and small leases that overlap never keep a large one, or
a trial that is to be alone on the node, from its turn. A ``shared`` lease has no cores of its own
and waits for nothing.
"""

import os
import time
from collections import Counter
from collections.abc import Callable, Collection, Sequence
from contextlib import ExitStack, suppress
from dataclasses import dataclass, field
from datetime import datetime
from itertools import starmap
from pathlib import Path

import psutil

from orchestrator.execution.core_locks import NODE, CoreLocks, core_lock
from orchestrator.formats import counted
from orchestrator.system import cores as node_cores
from orchestrator.system.cores import Topology, choose, read_topology, usable_cores
from orchestrator.trial import Isolation


@dataclass(kw_only=True)
class Lease:
    """Cores reserved for this process until :meth:`release`.

    Attributes:
        cores: Their numbers, ascending.
        isolation: Isolation that was granted.
        note: Reason why it is less than requested, or empty.
    """

    cores: tuple[int, ...]
    isolation: Isolation
    note: str = ""
    _locks: ExitStack = field(default_factory=ExitStack)

    def release(self) -> None:
        """Give the cores back."""
        self._locks.close()


@dataclass(kw_only=True)
class Place:
    """A place in the queue for a node's cores, kept from one call to the next.

    Attributes:
        is_first: Returns True once no other is before it; None: it is in no queue.
        locks: The lock of the place.
    """

    is_first: Callable[[], bool] | None = None
    locks: ExitStack = field(default_factory=ExitStack)

    def leave(self) -> None:
        """Let others come first. Safe to call more than once."""
        self.locks.close()
        self.is_first = None


class CoreLeases:
    """Leases cores of this node to trials of any number of sweeps.

    Attributes:
        num_cores: Cores of this node that trials may have.
    """

    def __init__(
        self,
        folder: Path | None = None,
        cores: Sequence[int] | None = None,
        topology: Topology | None = None,
    ) -> None:
        """Lease out ``cores``; by default this node's cores, as many as trials may have.

        Args:
            folder: Folder of the locks. Default: the one for all sweeps of the host.
            cores: Cores to choose from.
            topology: Topology of these cores. Default: as the kernel reports it.
        """
        self._locks = CoreLocks(folder)
        self._cores = tuple(cores) if cores is not None else leasable_cores()
        # Under a CPU quota there are more cores to choose from than may be leased.
        self.num_cores = len(self._cores) if cores is not None else len(trial_cores())
        self._topology = topology or read_topology(self._cores)

    def acquire(
        self, count: int, isolation: Isolation, *, timeout_s: float, place: Place | None = None
    ) -> Lease | None:
        """Wait for ``count`` cores; return None if they were not free in time.

        On a node with fewer cores the lease has all of them. Without permission to write the lock
        folder the lease is ``shared``, and its note gives the reason.

        Args:
            count: Number of cores.
            isolation: Isolation from other trials.
            timeout_s: Longest wait, s.
            place: Place that the call begins with. The next call continues there; a caller
                that stops waiting leaves it. Default: lost with the call.
        """
        count, deadline = min(count, self.num_cores), time.monotonic() + timeout_s
        own = Place()
        try:
            self._locks.create_folder()
            return self._wait(count, isolation, deadline, place or own)
        except OSError as error:
            # Nothing can be locked, so the lease has no locks: the trial runs all the same.
            reason = f"{error.strerror}: {error.filename or self._locks.folder}"
            note = f"cores cannot be leased: {reason}" * (isolation is not Isolation.SHARED)
            return Lease(cores=self._cores[:count], isolation=Isolation.SHARED, note=note)
        finally:
            own.leave()

    def num_others(self, lease: Lease) -> int | None:
        """Count cores of this node that others have leased now; None where that is not known.

        Next to a ``shared`` lease, other trials without a lease may run.
        """
        if lease.isolation is Isolation.SHARED:
            return None
        own, locked = set(lease.cores), set[int]().union(*self._locks.held(self._cores).values())
        return len(locked - own) if own <= locked else None

    def what_for(self, count: int) -> str:
        """Return what a trial with ``count`` cores waits for, and what to do."""
        cores = counted(count, "core")
        return f"{cores} of this node, held by {self.owners()}: wait for its end, or end it"

    def owners(self) -> str:
        """Return the processes that have locked cores, or the node, with these and their start."""
        held = sorted(self._locks.held(self._cores).items())
        others = [(pid, cores) for pid, cores in held if pid > 0 and pid != os.getpid()]
        having = [other for other in others if other[1]] or others
        return " and ".join(starmap(_shown, having)) or "another sweep"

    def _wait(
        self, count: int, isolation: Isolation, deadline: float, place: Place
    ) -> Lease | None:
        if isolation is Isolation.SHARED:
            return self._share(count)
        is_first = place.is_first = place.is_first or self._locks.queue(place.locks)
        while True:
            lease = self._take(count, isolation) if is_first() else None
            if lease is not None:
                place.leave()
            if lease is not None or time.monotonic() >= deadline:
                return lease
            time.sleep(0.05)

    def _share(self, count: int) -> Lease:
        """Return a lease without cores. It keeps exclusive ones away that come later."""
        with ExitStack() as locks, ExitStack() as place:
            is_alone = not self._locks.take(locks, NODE, shared=True)
            if not self._locks.queue(place)():
                locks.close()  # otherwise those that wait for the node would never have their turn
            return Lease(
                cores=self._cores[:count],
                isolation=Isolation.SHARED,
                note=f"the whole node is held by {self.owners()}" if is_alone else "",
                _locks=locks.pop_all(),
            )

    def _take(self, count: int, isolation: Isolation) -> Lease | None:
        """Take all locks of a lease, or none. Only the first in the queue may call this."""
        is_alone = isolation is Isolation.EXCLUSIVE
        with ExitStack() as locks:
            # Other leases share the node's lock: an exclusive one gets it when none is left.
            if not self._locks.take(locks, NODE, shared=not is_alone):
                return None
            if (cores := self._take_cores(locks, count)) is None:
                return None
            # From here on the lease owns the locks. Any earlier exit releases them.
            return Lease(cores=cores, isolation=isolation, _locks=locks.pop_all())

    def _take_cores(self, locks: ExitStack, count: int) -> tuple[int, ...] | None:
        """Take the locks of the best ``count`` of the free cores.

        All free cores are locked first, and the rest is released again: only its lock shows for
        sure whether a core is free.
        """
        with ExitStack() as not_chosen:
            free: dict[int, ExitStack] = {}
            for core in self._cores:
                lock = not_chosen.enter_context(ExitStack())
                if self._locks.take(lock, core_lock(core)):
                    free[core] = lock
            chosen = choose(free, count, self._topology)
            for core in chosen or ():
                locks.push(free[core].pop_all())
            return chosen


DRIVER_FROM_CORES = 4
"""Least number of usable cores at which one is kept for the driver and Ray. On fewer it would cost
trials too much."""


def trial_cores() -> tuple[int, ...]:
    """Return the cores that trials may have: all usable cores except the driver's.

    The driver has a whole physical core if there are enough of them: on one hardware thread of a
    core it would slow down a trial on the other thread.
    """
    usable = usable_cores()
    if len(usable) < DRIVER_FROM_CORES:
        return usable
    topology = read_topology(usable)
    threads = Counter(topology[core].physical for core in usable)
    num_kept = min(threads.values()) if len(threads) >= DRIVER_FROM_CORES else 1
    # The rest is kept: the choice takes whole physical cores, those with the most threads first.
    return choose(usable, len(usable) - num_kept, topology) or usable


def leasable_cores() -> tuple[int, ...]:
    """Return the cores that leases are chosen from.

    Under a CPU quota these are all allowed cores. A quota limits CPU time on any of them: if every
    control group of a host chose the first few cores, all would run on the same ones.
    """
    allowed = tuple(sorted(os.sched_getaffinity(0)))
    # Only a quota makes fewer cores usable than the affinity allows.
    return allowed if len(usable_cores()) < len(allowed) else trial_cores()


def _shown(pid: int, cores: Collection[int]) -> str:
    """Return a process with its cores and its start; the time of its lease is not known."""
    held = f", cores {node_cores.text_of(sorted(cores))}" if cores else ""
    with suppress(psutil.Error):
        process = psutil.Process(pid)
        began = datetime.fromtimestamp(process.create_time()).strftime("%b %d %H:%M")
        return f"`{process.name()}` (process {pid}, started {began}{held})"
    return f"process {pid}{held}"
