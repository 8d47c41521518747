"""Loader workers: a DataLoader from the knobs, its order drawn by the training process."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Sequence
from typing import Generic, TypeVar, cast

import torch
from torch.utils.data import DataLoader, Dataset, Sampler

from orchestrator.system.lifeline import die_with_parent
from trainables.loading.order import BatchOrder, Draw
from trainables.settings import LoaderKnobs

B = TypeVar("B")

Fetch = Callable[[Draw], B]
"""Makes the batch that a draw stands for; runs in the workers where there are any."""


class LoadedBatches(Generic[B]):
    """Batches that a ``DataLoader`` fetches, one call of ``fetch`` for each.

    Args:
        fetch: Must depend on its draw alone; randomness in it too: see :class:`Draw`.
        order: The draws of each epoch.
        knobs: Workers, pinning and so on.
        cores: Cores to bind the workers to; none to leave them unbound.
    """

    def __init__(
        self, fetch: Fetch[B], order: BatchOrder, knobs: LoaderKnobs, cores: Sequence[int] = ()
    ) -> None:
        self._draws = _Draws(order)
        self._loader: DataLoader[B] = DataLoader(
            cast("Dataset[B]", _Fetcher(fetch)),
            batch_size=None,  # an item of the "data set" is a whole batch
            sampler=cast("Sampler[int]", self._draws),
            collate_fn=_as_it_is,
            num_workers=knobs.num_workers,
            prefetch_factor=knobs.prefetch_factor if knobs.num_workers else None,
            persistent_workers=knobs.persistent_workers and knobs.num_workers > 0,
            pin_memory=knobs.pin_memory,
            worker_init_fn=_Settled(os.getpid(), cores),
            # A separate one, so that loading draws nothing from the generator that training uses.
            generator=torch.Generator().manual_seed(order.seed),
        )

    def __len__(self) -> int:
        """Steps of an epoch."""
        return len(self._draws)

    def epoch(self, index: int) -> DataLoader[B]:
        """The batches of an epoch; starting to iterate starts the workers."""
        self._draws.epoch = index
        return self._loader


class _Draws:
    """The sampler: lives in the training process, also where the workers are kept."""

    def __init__(self, order: BatchOrder) -> None:
        self._order = order
        self.epoch = 0

    def __len__(self) -> int:
        return len(self._order)

    def __iter__(self) -> Iterator[Draw]:
        return self._order.epoch(self.epoch)


class _Fetcher(Generic[B]):
    """The data set: item ``draw`` is the batch that it stands for."""

    def __init__(self, fetch: Fetch[B]) -> None:
        self._fetch = fetch

    def __getitem__(self, draw: Draw) -> B:
        return self._fetch(draw)


class _Settled:
    """First call of a worker: it ends with the training process, has one thread, and its cores."""

    def __init__(self, parent: int, cores: Sequence[int]) -> None:
        self._parent = parent
        self._cores = cores

    def __call__(self, _worker: int) -> None:
        # Outside of a trial nothing else ties this process to its parent.
        die_with_parent(self._parent)
        torch.set_num_threads(1)
        if self._cores:
            os.sched_setaffinity(0, self._cores)


def _as_it_is(batch: B) -> B:
    return batch
