"""Cores that this process may run on: its affinity, its CPU quota, and whether it may bind."""

from __future__ import annotations

import os
from collections.abc import Sequence

from orchestrator.system.cgroup import Cgroups
from orchestrator.system.topology import choose, read_topology


def usable_cores() -> tuple[int, ...]:
    """Cores that this process may run on, within its CPU quota if it has one."""
    return within_quota(sorted(os.sched_getaffinity(0)), Cgroups().cpu_quota())


def within_quota(allowed: Sequence[int], quota: float | None) -> tuple[int, ...]:
    """As many of the cores that are allowed as a quota of CPUs pays for, at least one."""
    if quota is None or quota >= len(allowed):
        return tuple(allowed)
    return choose(allowed, max(int(quota), 1), read_topology(allowed)) or tuple(allowed)


def binding_refused(cores: Sequence[int]) -> str:
    """Why a process cannot be bound to cores here, or empty: tried on this thread."""
    before = os.sched_getaffinity(0)
    try:
        os.sched_setaffinity(0, cores)
    except OSError as error:
        return error.strerror or str(error)
    os.sched_setaffinity(0, before)
    return ""
