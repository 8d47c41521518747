"""Sources of an epoch's batches: sample by sample, whole batches, or the device."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from typing import Protocol, TypeVar

import torch
from torch.utils.data import default_collate

from trainables.loading.batch import Batch
from trainables.loading.order import BatchOrder, Draw

B_co = TypeVar("B_co", covariant=True)


class Batches(Protocol[B_co]):
    """The batches of every epoch."""

    def __len__(self) -> int:
        """Steps of an epoch."""

    def epoch(self, index: int) -> Iterable[B_co]:
        """The batches of an epoch; starting to iterate starts whatever yields them."""


class Samples(Protocol):
    """A map-style data set, as torchvision's are."""

    def __getitem__(self, index: int, /) -> tuple[torch.Tensor, int | torch.Tensor]:
        """Input and label of a sample."""


class PerSample:
    """Fetcher of a batch the usual way: sample by sample, then collated."""

    def __init__(self, samples: Samples) -> None:
        self._samples = samples

    def __call__(self, draw: Draw) -> Batch:
        """The batch of ``draw``."""
        if not len(draw.indices):  # a rank's share of a batch with fewer samples than ranks
            inputs, labels = default_collate([self._samples[0]])
            return Batch(inputs[:0], labels[:0], draw.total)
        items = [self._samples[index] for index in draw.indices.tolist()]
        inputs, labels = default_collate(items)
        return Batch(inputs, labels, draw.total)


class Batched:
    """Fetcher of a batch by indexing tensors once.

    Args:
        inputs: (samples, ...).
        labels: (samples,).
        transform: Makes a batch's inputs of what was indexed.
    """

    def __init__(
        self,
        inputs: torch.Tensor,
        labels: torch.Tensor,
        transform: Callable[[torch.Tensor], torch.Tensor] = lambda inputs: inputs,
    ) -> None:
        self._inputs = inputs
        self._labels = labels
        self._transform = transform

    def __call__(self, draw: Draw) -> Batch:
        """The batch of ``draw``."""
        indices = torch.from_numpy(draw.indices)
        inputs = self._transform(self._inputs[indices])
        return Batch(inputs, self._labels[indices], draw.total)


class ResidentBatches:
    """Batches of tensors that live on one device, indexed there.

    Args:
        inputs: (samples, ...), as the network takes them.
        labels: (samples,), on the same device.
        order: The draws of each epoch.
    """

    def __init__(self, inputs: torch.Tensor, labels: torch.Tensor, order: BatchOrder) -> None:
        self._inputs = inputs
        self._labels = labels
        self._order = order

    def __len__(self) -> int:
        """Steps of an epoch."""
        return len(self._order)

    def epoch(self, index: int) -> Iterator[Batch]:
        """The batches of an epoch."""
        # One copy to the device an epoch, not one a step.
        order = torch.from_numpy(self._order.permutation(index)).to(self._inputs.device)
        size, first, stride = self._order.batch_size, self._order.rank, self._order.world_size
        for step in range(len(self._order)):
            whole = order[step * size : (step + 1) * size]
            share = whole[first::stride]
            yield Batch(self._inputs[share], self._labels[share], len(whole))


class StagedBatches:
    """Batches gathered straight into page-locked memory by the training process itself.

    Args:
        inputs: (samples, ...), in host memory.
        labels: (samples,), there too.
        order: The draws of each epoch.
    """

    def __init__(self, inputs: torch.Tensor, labels: torch.Tensor, order: BatchOrder) -> None:
        self._inputs = inputs
        self._labels = labels
        self._order = order

    def __len__(self) -> int:
        """Steps of an epoch."""
        return len(self._order)

    def epoch(self, index: int) -> Iterator[Batch]:
        """The batches of an epoch."""
        for draw in self._order.epoch(index):
            indices = torch.from_numpy(draw.indices)
            inputs, labels = _staged(self._inputs, indices), _staged(self._labels, indices)
            yield Batch(inputs, labels, draw.total)


class WholeSet:
    """One batch an epoch: all samples, as they lie."""

    def __init__(self, inputs: torch.Tensor, labels: torch.Tensor) -> None:
        self._batch = Batch(inputs, labels, len(labels))

    def __len__(self) -> int:
        """Steps of an epoch."""
        return 1

    def epoch(self, _index: int) -> Iterator[Batch]:
        """The batch of an epoch."""
        yield self._batch


def _staged(values: torch.Tensor, indices: torch.Tensor) -> torch.Tensor:
    # torch reuses page-locked memory only once the copies from it have ended.
    staged = torch.empty(len(indices), *values.shape[1:], dtype=values.dtype, pin_memory=True)
    return torch.index_select(values, 0, indices, out=staged)
