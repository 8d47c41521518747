"""Memory of a training process and of its loader workers, read at the end of an epoch.

Resident memory counts a shared page once for each process that has touched it. Here private
memory (USS) is what a worker alone holds, and PSS divides a shared page among its holders,
so that the sum over processes is what they take together.
"""

from __future__ import annotations

import statistics
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise

import psutil

MIN_EPOCHS = 3
"""Fewer ends of epochs than this say nothing of growth."""


@dataclass(frozen=True, kw_only=True)
class Memory:
    """Memory at the end of an epoch, while the workers that persist still live.

    Attributes:
        pss_bytes: Of this process and its children, a shared page counted once.
        private_bytes: Private memory of each child, by process id and time of its start.
    """

    pss_bytes: int
    private_bytes: Mapping[tuple[int, float], int]


def memory_now() -> Memory | None:
    """What is read now; None where the system does not tell.

    It takes some tens of milliseconds for a process of several GiB: never within a step.
    """
    own = psutil.Process()
    try:
        pss = own.memory_full_info().pss
        children = own.children()
    except (psutil.Error, AttributeError, OSError):
        return None
    private: dict[tuple[int, float], int] = {}
    for child in children:
        try:
            found = child.memory_full_info()
            private[child.pid, child.create_time()] = found.uss
            pss += found.pss
        except psutil.Error:
            continue
    return Memory(pss_bytes=pss, private_bytes=private)


def memory_figures(ends: Sequence[Memory]) -> Iterator[tuple[str, float]]:
    """Figures from the ends of a run's epochs."""
    if ends:
        yield "peak_pss_gib", max(end.pss_bytes for end in ends) / 2**30
    growth = _growth_bytes(ends)
    if growth is not None:
        yield "worker_growth_mib_per_epoch", growth / 2**20


def _growth_bytes(ends: Sequence[Memory]) -> float | None:
    """Median growth from one epoch to the next, summed over the workers that were in both."""
    if len(ends) < MIN_EPOCHS:
        return None
    growths = []
    for before, after in pairwise(ends):
        both = before.private_bytes.keys() & after.private_bytes.keys()
        if both:
            growths.append(
                sum(after.private_bytes[who] - before.private_bytes[who] for who in both)
            )
    return statistics.median(growths) if len(growths) >= MIN_EPOCHS - 1 else None
