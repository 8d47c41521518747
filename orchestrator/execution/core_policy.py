"""Which of the usable cores trials are given, and which are kept for the driver and Ray."""

from __future__ import annotations

import os
from collections import Counter

from orchestrator.system.cores import usable_cores
from orchestrator.system.topology import choose, read_topology

DRIVER_FROM_CORES = 4
"""From this many cores up, one is kept for the driver and for Ray."""


def trial_cores() -> tuple[int, ...]:
    """Cores that trials may be given: all usable ones but the driver's.

    The driver's is a whole physical core where there are as many of these: on one thread of a
    core it would be beside a trial on the other.
    """
    usable = usable_cores()
    if len(usable) < DRIVER_FROM_CORES:
        return usable
    topology = read_topology(usable)
    threads = Counter(topology[core].physical for core in usable)
    num_kept = min(threads.values()) if len(threads) >= DRIVER_FROM_CORES else 1
    return choose(usable, len(usable) - num_kept, topology) or usable


def leasable_cores() -> tuple[int, ...]:
    """Cores that leases are chosen from.

    A quota pays for so many CPUs, whichever these are. So under one they are all that are
    allowed: control groups of one host, each with its quota, need not meet on the same few.
    """
    allowed = tuple(sorted(os.sched_getaffinity(0)))
    return allowed if len(usable_cores()) < len(allowed) else trial_cores()
