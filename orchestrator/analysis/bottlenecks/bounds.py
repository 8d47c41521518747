"""The speed that a loader, a model, a copy and the cores allow together.

A trial measures its loader alone and its model alone, over batches that are there already.
Time per sample with ``w`` workers on ``K`` cores is then at least each of

    loader / w          the workers share the loader's work
    compute             the model takes its batches one after the other
    copy                batches follow each other to the device
    work / K            no work is done without a core to do it on

and the largest of the four bounds the speed. Parts that do not overlap are summed: loader +
compute without workers, unless a thread prefetches; compute + copy, unless batches are copied
ahead.

``loader`` is the work of one sample in one process: the time of the loader alone, times the
workers (or cores, where these are fewer) that shared it. ``work`` is the CPU time of a sample over
all processes, busy waiting included; without it loader + compute on all cores. Where a config was
clearly slower than its own loader and model allow, workers and model slowed each other, and the
time of a sample stands for work / K. Work costs differently with another number of workers, so that
loader and work come from the nearest worker counts that were tried: the next smaller and the next
larger one.

The number of batches fetched ahead does not change these bounds, only how well bursts are evened
out. Copies were measured on CPUs alone, where they take no time: their part of a bound has never
been checked on a GPU.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from statistics import fmean, median
from typing import Final

import numpy as np

CLEARLY: Final = 0.15
"""A config that is slower than its bounds by this share is limited by something else."""


@dataclass(frozen=True, kw_only=True)
class Tried:
    """Means of the figures of one config's runs.

    Attributes:
        workers: Loader processes.
        prefetch: ``off``, ``thread`` or ``stream``: how batches are fetched and moved ahead.
        cores: Cores of a trial.
        speed: Samples a second.
        loader_speed: The same of the loader alone.
        compute_speed: The same of the model alone.
        cpu_s: CPU seconds of a sample, over all processes; NaN where not measured.
        copy_s: Seconds of a sample's copy to the device.
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
        measured = max(min(self.workers, self.cores), 1) / self.loader_speed
        # Measured through a thread that prefetches, it has waited for the copies as well.
        return max(measured - self.copy_s, 0.0) if self.prefetch == "thread" else measured

    @property
    def model_s(self) -> float:
        """Time of the model for one sample on the device."""
        measured = 1 / self.compute_speed
        return max(measured - self.copy_s, 0.0) if self.prefetch == "off" else measured

    @property
    def core_s(self) -> float:
        """Time of one sample that sharing the cores allows; NaN where not known."""
        if _fetches_ahead(self.workers, self.prefetch):
            parts = self.loader_s, self.model_s, self.copy_s
            if 1 / self.speed > (1 + CLEARLY) * _time_s(self.workers, self.prefetch, *parts):
                return 1 / self.speed
        return self.cpu_s / self.cores


def can_compose(workers: int, tried: Sequence[Tried]) -> bool:
    """Return True if the speed with so many workers follows from ``tried``.

    A loader in the training process does not follow from loaders in workers: theirs includes
    handing a batch from one process to another.
    """
    return workers > 0 or any(config.workers == 0 for config in tried)


def composed_speed(workers: int, tried: Sequence[Tried], *, prefetch: str = "off") -> float:
    """Return the speed with so many workers, from trials with other settings."""
    near = _nearest(workers, tried)
    loader_s = fmean(median(config.loader_s for config in side) for side in near)
    model_s, copy_s = (
        median(config.model_s for config in tried),
        median(config.copy_s for config in tried),
    )
    measured = [[config.core_s for config in side if np.isfinite(config.core_s)] for side in near]
    core_s = [median(side) for side in measured if side]
    cores = min(config.cores for config in tried)
    least_s = fmean(core_s) if core_s else loader_s / cores + model_s
    return 1 / _time_s(workers, prefetch, loader_s, model_s, copy_s, least_s)


def _fetches_ahead(workers: int, prefetch: str) -> bool:
    """Return True if a batch is fetched while another is computed with."""
    return workers > 0 or prefetch == "thread"


def _time_s(
    workers: int, prefetch: str, loader_s: float, model_s: float, copy_s: float, core_s: float = 0.0
) -> float:
    """Return the time from one sample to the next."""
    fetch_s = loader_s / max(workers, 1)
    step_s = model_s + copy_s if prefetch == "off" else max(model_s, copy_s)
    if not _fetches_ahead(workers, prefetch):
        return fetch_s + step_s
    if prefetch == "thread":
        fetch_s += copy_s
    return max(fetch_s, step_s, core_s)


def _nearest(workers: int, tried: Sequence[Tried]) -> list[list[Tried]]:
    """Return the trials with the next smaller and the next larger count of workers, or the same.

    A loader in the training process is of another kind than workers: either stands in for the
    other only where it is the only one.
    """
    kin = [config for config in tried if (config.workers == 0) == (workers == 0)] or list(tried)
    counts = {config.workers for config in kin}
    below = max((count for count in counts if count <= workers), default=None)
    above = min((count for count in counts if count >= workers), default=None)
    sides = [count for count in (below, above) if count is not None]
    return [[config for config in kin if config.workers == count] for count in dict.fromkeys(sides)]
