"""Memory of a training process and of its loader workers, read at the end of an epoch.

Resident memory counts a shared page once for each process that has touched it. PSS divides a
shared page among its holders, so that the sum over processes is what they take together. What
a worker has written and no other holds (Private_Dirty) is what grows where pages are copied on
write; a mapped file's pages, which a worker happens to be alone in reading, are not among it.
"""

from __future__ import annotations

import statistics
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from itertools import pairwise
from pathlib import Path
from typing import Final

import psutil
import torch

MIN_EPOCHS: Final = 3
"""Fewer ends of epochs than this say nothing of growth."""
MAX_SHARE: Final = 0.05
"""Of the time in training epochs: what reading may take, beyond the first and the last ends."""


@dataclass(frozen=True, kw_only=True)
class Memory:
    """Memory at the end of an epoch, while the workers that persist still live.

    Attributes:
        epoch: Index of the epoch.
        pss_bytes: Of this process and its children, a shared page counted once.
        private_bytes: What each child alone holds and has written, by process id and time of
            its start.
    """

    epoch: int
    pss_bytes: int
    private_bytes: Mapping[tuple[int, float], int]


@dataclass
class MemoryAtEnds:
    """The memory at the ends of a run's epochs.

    A reading takes some ten milliseconds for each process: with eight workers and short epochs
    a third of the trial. So the first ends are read and the last one, and of the others as many
    as take no more than :data:`MAX_SHARE`.

    Attributes:
        ends: What was read, in order.
    """

    ends: list[Memory] = field(default_factory=list)
    _spent_s: float = 0.0

    def epoch_ends(self, epoch: int, train_s: float, *, is_last: bool) -> None:
        """Reads unless too much time has gone into that.

        Args:
            epoch: Index of the epoch.
            train_s: Seconds spent in training epochs so far.
            is_last: Whether no other epoch follows.
        """
        is_due = len(self.ends) < MIN_EPOCHS or self._spent_s < MAX_SHARE * train_s
        if not (is_due or is_last):
            return
        began = time.perf_counter()
        found = memory_at(epoch)
        self._spent_s += time.perf_counter() - began
        if found is not None:
            self.ends.append(found)


def memory_at(epoch: int) -> Memory | None:
    """What is read now, at the end of ``epoch``; None where the system does not tell."""
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
    return Memory(epoch=epoch, pss_bytes=pss, private_bytes=private)


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
    """Median growth an epoch, summed over the workers that were at both ends of an interval.

    An interval counts once for each of its epochs.
    """
    growths: list[float] = []
    for before, after in pairwise(ends):
        both = before.private_bytes.keys() & after.private_bytes.keys()
        if both:
            grown = sum(after.private_bytes[who] - before.private_bytes[who] for who in both)
            num_epochs = after.epoch - before.epoch
            growths += [grown / num_epochs] * num_epochs
    return statistics.median(growths) if len(growths) >= MIN_EPOCHS - 1 else None
