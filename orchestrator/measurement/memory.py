"""Memory of a training process and of its loader workers, read at the end of an epoch.

Resident memory counts a shared page once for each process that has touched it. PSS divides a
shared page among its holders, so that the sum over processes is what they take together. What
a worker has written and no other holds (Private_Dirty) is what grows where pages are copied on
write; a mapped file's pages, which a worker happens to be alone in reading, are not among it.
"""

from __future__ import annotations

import statistics
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path

import psutil
import torch

MIN_EPOCHS = 3
"""Fewer ends of epochs than this say nothing of growth."""


@dataclass(frozen=True, kw_only=True)
class Memory:
    """Memory at the end of an epoch, while the workers that persist still live.

    Attributes:
        pss_bytes: Of this process and its children, a shared page counted once.
        private_bytes: What each child alone holds and has written, by process id and time of
            its start.
    """

    pss_bytes: int
    private_bytes: Mapping[tuple[int, float], int]


def memory_now() -> Memory | None:
    """What is read now; None where the system does not tell.

    It takes some tens of milliseconds for a process of several GiB: never within a step.
    """
    own = psutil.Process()
    try:
        pss = _rolled_up(own.pid)["Pss"]
        children = own.children()
    except (psutil.Error, OSError, KeyError):
        return None
    private: dict[tuple[int, float], int] = {}
    for child in children:
        with suppress(psutil.Error, OSError, KeyError):  # it has just ended
            found = _rolled_up(child.pid)
            private[child.pid, child.create_time()] = found["Private_Dirty"]
            pss += found["Pss"]
    return Memory(pss_bytes=pss, private_bytes=private)


def peak_gpu_bytes(device: torch.device) -> int | None:
    """Peak memory allocated on a GPU so far; None for the CPU."""
    return torch.cuda.max_memory_allocated(device) if device.type == "cuda" else None


def _rolled_up(pid: int) -> dict[str, int]:
    """Bytes by kind, over all mappings of a process."""
    lines = Path(f"/proc/{pid}/smaps_rollup").read_text().splitlines()[1:]
    kinds = (line.split() for line in lines)
    return {name.rstrip(":"): int(kib) * 1024 for name, kib, *_ in kinds}


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
