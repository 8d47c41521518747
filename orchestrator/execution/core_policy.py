"""Core policy: cores for trials, and those that are kept for the driver and Ray."""

from __future__ import annotations

import os
from collections import Counter

from orchestrator.system.cores import usable_cores
from orchestrator.system.topology import choose, read_topology

DRIVER_FROM_CORES = 4
"""Number of usable cores from which on one is kept for the driver and Ray. On fewer it would cost
trials too much."""


def trial_cores() -> tuple[int, ...]:
    """Return the cores that trials may have: all usable ones without the driver's.

    The driver's is a whole physical core where there are enough of them: on one hardware thread
    of a core it would slow down a trial on the other.
    """
    usable = usable_cores()
    if len(usable) < DRIVER_FROM_CORES:
        return usable
    topology = read_topology(usable)
    threads = Counter(topology[core].physical for core in usable)
    num_kept = min(threads.values()) if len(threads) >= DRIVER_FROM_CORES else 1
    # What it leaves is kept: it takes whole physical cores, those with the most threads first.
    return choose(usable, len(usable) - num_kept, topology) or usable


def leasable_cores() -> tuple[int, ...]:
    """Return the cores that leases are chosen from.

    Under a CPU quota these are all that are allowed. A quota limits the time, on whichever cores:
    if every control group of a host chose the first few, all would meet on the same ones.
    """
    allowed = tuple(sorted(os.sched_getaffinity(0)))
    # Only a quota makes fewer cores usable than the affinity allows.
    return allowed if len(usable_cores()) < len(allowed) else trial_cores()
