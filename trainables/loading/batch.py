"""Batches, and how structures of tensors are moved, pinned and kept alive."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import Any, NamedTuple, TypeVar, cast

import torch

B = TypeVar("B")


class Batch(NamedTuple):
    """Inputs and labels of one rank's share of a step's batch.

    Attributes:
        inputs: (share, ...).
        labels: (share,) int64.
        total: Samples of the whole batch, over all ranks.
    """

    inputs: torch.Tensor
    labels: torch.Tensor
    total: int


def num_samples(batch: Batch) -> int:
    """Samples of a batch, over all ranks."""
    return batch.total


def moved(batch: B, device: torch.device, *, non_blocking: bool = False) -> B:
    """``batch`` on ``device``: every tensor in it, and whatever else has a ``to``.

    Args:
        batch: Tensors, objects with ``to(device, non_blocking=...)`` (a DGL graph), and
            tuples, lists and dictionaries of these; the rest is taken as it is.
        device: The device to move it to.
        non_blocking: Do not wait for copies from page-locked memory.
    """
    return _rebuilt(
        batch, "to", lambda leaf: cast("Any", leaf).to(device, non_blocking=non_blocking)
    )


def pinned(batch: B) -> B:
    """``batch`` in page-locked memory: whatever in it has a ``pin_memory``."""
    return _rebuilt(batch, "pin_memory", lambda leaf: cast("Any", leaf).pin_memory())


def keep_for(batch: object, stream: torch.cuda.Stream) -> None:
    """Keep the memory of ``batch`` until ``stream`` has used it, as ``Tensor.record_stream``."""
    for leaf in _leaves(batch):
        if hasattr(leaf, "record_stream"):
            leaf.record_stream(stream)


def _rebuilt(batch: B, method: str, change: Callable[[object], object]) -> B:
    value: Any = batch
    if hasattr(value, method):
        return cast("B", change(value))
    if isinstance(value, Mapping):
        return cast("B", {key: _rebuilt(item, method, change) for key, item in value.items()})
    if isinstance(value, (tuple, list)):
        items = [_rebuilt(item, method, change) for item in value]
        named = hasattr(value, "_fields")
        return cast("B", type(value)(*items) if named else type(value)(items))
    return batch


def _leaves(batch: object) -> Iterator[Any]:
    if isinstance(batch, Mapping):
        batch = list(batch.values())
    if isinstance(batch, (tuple, list)):
        for item in batch:
            yield from _leaves(item)
    else:
        yield batch
