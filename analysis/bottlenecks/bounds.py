"""A speed composed of ceilings: what a step takes with other workers, or another way to prefetch.

A trial measures its loader drained alone and its model over batches that are there already.
Time per sample with ``w`` workers on ``K`` cores is then at least each of

    loader / w          the workers share the loader's work
    compute             the model takes its batches one after the other
    copy                batches follow each other to the device
    work / K            no work is done without a core to do it on

and the largest of the four bounds the speed. What is not done meanwhile is done in turn: loader +
compute without workers, unless a thread prefetches; compute + copy, unless batches are copied
ahead. ``loader`` is the work of one sample in one process: what the loader alone took, times
the workers (or cores, where these are fewer) that shared it. ``work`` is the CPU time that a
sample took over all processes, waiting in a busy loop included; without it loader + compute on
all cores. Where a config was clearly slower than its own loader and model allow, workers and model
held each other up, and the time that a sample took stands for work / K. Work that is shared
differently costs differently, so that loader and work are taken from the nearest worker counts
that were tried: the next smaller and the next larger one.

How many batches are fetched ahead does not change these bounds, only how well bursts are evened
out; a prediction holds for any number of them. Copies were seen on CPUs alone, where they take no
time: what is composed of them on a GPU has never been checked.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from statistics import fmean, median
from typing import Final

import numpy as np

CLEARLY: Final = 0.15
"""A config that is slower by so much than its bounds allow is held up by something else."""


@dataclass(frozen=True, kw_only=True)
class Parts:
    """The work that one sample is, in seconds: of the loader, the model, and a copy."""

    loader_s: float
    model_s: float
    copy_s: float

    def time_s(self, workers: int, prefetch: str, *, shared_s: float = 0.0) -> float:
        """Time from one sample to the next; what the cores allow at least is ``shared_s``."""
        fetch_s = self.loader_s / max(workers, 1)
        both = self.model_s, self.copy_s
        step_s = sum(both) if prefetch == "off" else max(both)
        if _fetches_in_turn(workers, prefetch):
            return fetch_s + step_s
        if prefetch == "thread":
            fetch_s += self.copy_s
        return max(fetch_s, step_s, shared_s)


def _fetches_in_turn(workers: int, prefetch: str) -> bool:
    """Whether no batch is fetched while another is computed with."""
    return workers == 0 and prefetch != "thread"


@dataclass(frozen=True, kw_only=True)
class Tried:
    """What one config measured, its runs averaged.

    Attributes:
        workers: Its loader processes.
        prefetch: ``off``, ``thread`` or ``stream``: how batches are fetched and moved ahead.
        cores: Its cores.
        speed: Samples a second.
        loader_speed: The same of its loader alone.
        compute_speed: The same of its model alone.
        cpu_s: CPU seconds that a sample took, over all processes; NaN where not measured.
        copy_s: Seconds that a sample took to be moved to the device.
    """

    workers: int
    prefetch: str = "off"
    cores: int
    speed: float
    loader_speed: float
    compute_speed: float
    cpu_s: float
    copy_s: float = 0.0

    @property
    def loader_s(self) -> float:
        """Work of the loader for one sample, in seconds of one process."""
        alone = max(min(self.workers, self.cores), 1) / self.loader_speed
        # Drained through a thread that prefetches, it has waited for the copies as well.
        return max(alone - self.copy_s, 0.0) if self.prefetch == "thread" else alone

    @property
    def model_s(self) -> float:
        """Time of the model for one sample on the device."""
        alone = 1 / self.compute_speed
        return max(alone - self.copy_s, 0.0) if self.prefetch == "off" else alone

    @property
    def parts(self) -> Parts:
        """What its step's time is made of."""
        return Parts(loader_s=self.loader_s, model_s=self.model_s, copy_s=self.copy_s)

    @property
    def shared_s(self) -> float:
        """What sharing its cores allows for one sample, in seconds; NaN where not known."""
        if not _fetches_in_turn(self.workers, self.prefetch):
            allowed = self.parts.time_s(self.workers, self.prefetch)
            if 1 / self.speed > (1 + CLEARLY) * allowed:
                return 1 / self.speed
        return self.cpu_s / self.cores


def can_tell(workers: int, tried: Sequence[Tried]) -> bool:
    """Whether anything can be composed for so many workers from these.

    What a loader does in the training process is not known from workers: in theirs is what
    it costs to hand a batch from one process to another.
    """
    return workers > 0 or any(one.workers == 0 for one in tried)


def composed_speed(workers: int, tried: Iterable[Tried], *, prefetch: str = "off") -> float:
    """The speed with so many workers, from trials with other settings; see the module."""
    known = list(tried)
    near = _nearest(workers, known)
    parts = Parts(
        loader_s=fmean(median(one.loader_s for one in side) for side in near),
        model_s=median(one.model_s for one in known),
        copy_s=median(one.copy_s for one in known),
    )
    measured = [[one.shared_s for one in side if np.isfinite(one.shared_s)] for side in near]
    shared = [median(side) for side in measured if side]
    cores = min(one.cores for one in known)
    shared_s = fmean(shared) if shared else (parts.loader_s / cores + parts.model_s)
    return 1 / parts.time_s(workers, prefetch, shared_s=shared_s)


def _nearest(workers: int, known: Sequence[Tried]) -> list[list[Tried]]:
    """Trials with the next smaller and the next larger count of workers, or with the same.

    A loader in the training process is another kind: it stands in only where there is no other.
    """
    kin = [one for one in known if (one.workers == 0) == (workers == 0)] or known
    counts = {one.workers for one in kin}
    below = max((count for count in counts if count <= workers), default=None)
    above = min((count for count in counts if count >= workers), default=None)
    sides = {below, above} - {None}
    return [[one for one in kin if one.workers == count] for count in sorted(sides, key=str)]
