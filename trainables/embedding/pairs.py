"""Training pairs of random walks, and their storage while workers read them.

A list of Python objects is the usual container, and the one that grows in the memory of
loader workers: reading an object counts a reference in it, which makes the worker's own
copy of a page that it shared with the training process until then. Arrays and tensors hold
no objects, so that workers read the training process's pages.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Literal

import numpy as np
import torch
from numpy.typing import NDArray

from trainables.embedding.walks import Walks
from trainables.graph.drawing import Ids

PairContainer = Literal["list", "ndarray", "tensor"]

Pairs = Callable[[Ids], Ids]
"""Looks pairs up by number: ``(n,)`` to ``(n, 2)`` int64, centre and context."""


def pairs_of(walks: Walks, window: int) -> NDArray[np.int32]:
    """Every two nodes of a walk at most ``window`` steps apart, both ways round.

    Args:
        walks: ``(num_walks, length)``.
        window: Steps.

    Returns:
        Centres and contexts, ``(num_pairs, 2)``, in separate memory.
    """
    num_walks, length = walks.shape
    offsets = range(1, min(window, length - 1) + 1)
    pairs = np.empty((2 * num_walks * sum(length - offset for offset in offsets), 2), np.int32)
    begin = 0
    for offset in offsets:
        before, after = walks[:, :-offset].ravel(), walks[:, offset:].ravel()
        for centres, contexts in ((before, after), (after, before)):
            part = pairs[begin : begin + len(before)]
            part[:, 0], part[:, 1] = centres, contexts
            begin += len(before)
    return pairs


def held_in(container: PairContainer, pairs: NDArray[np.int32]) -> Pairs:
    """``pairs`` in a container, looked up the way that one does with it."""
    match container:
        case "list":
            return _Listed(pairs)
        case "ndarray":
            return lambda numbers: pairs[numbers].astype(np.int64)
        case "tensor":
            tensor = torch.from_numpy(pairs)
            return lambda numbers: tensor[torch.from_numpy(numbers)].long().numpy()


class _Listed:
    """A list of tuples of Python's whole numbers, as a generator of pairs appends them."""

    def __init__(self, pairs: NDArray[np.int32]) -> None:
        self._pairs = list(zip(pairs[:, 0].tolist(), pairs[:, 1].tolist(), strict=True))

    def __call__(self, numbers: Ids) -> Ids:
        chosen = [self._pairs[number] for number in numbers.tolist()]
        centres = [centre for centre, _ in chosen]
        contexts = [context for _, context in chosen]
        return np.array([centres, contexts], dtype=np.int64).T
