"""Cores that this process may run on: its affinity, its CPU quota, and binding to cores.

Affinity is what ``taskset``, Slurm and a container's ``--cpuset-cpus`` set: numbers of cores. A
quota (``--cpus``, a pod's limit) is an amount of CPU time on any of them. Both count here:
``os.cpu_count`` knows neither.
"""

from __future__ import annotations

import os
from collections.abc import Sequence

from orchestrator.system.cgroup import Cgroups
from orchestrator.system.topology import choose, read_topology


def usable_cores() -> tuple[int, ...]:
    """Return the cores that this process may run on, within its CPU quota if it has one."""
    return within_quota(sorted(os.sched_getaffinity(0)), Cgroups().cpu_quota())


def within_quota(allowed: Sequence[int], quota: float | None) -> tuple[int, ...]:
    """Return as many of the allowed cores as the quota pays for in full, at least one."""
    if quota is None or quota >= len(allowed):
        return tuple(allowed)
    # Rounded down: trials that keep more cores busy than the quota pays for are all throttled.
    return choose(allowed, max(int(quota), 1), read_topology(allowed)) or tuple(allowed)


def binding_refused(cores: Sequence[int]) -> str:
    """Return why a process cannot be bound to cores here, or an empty string.

    There is no way to ask: a container's seccomp profile may refuse the call whoever makes it. So
    this thread is bound for a moment.
    """
    before = os.sched_getaffinity(0)
    try:
        os.sched_setaffinity(0, cores)
    except OSError as error:
        return error.strerror or str(error)
    os.sched_setaffinity(0, before)
    return ""
