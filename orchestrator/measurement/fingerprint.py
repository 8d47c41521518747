"""Fingerprint of a training: a hash of its first batches, and the loss of its first step.

Two trials that differ in systems knobs alone have the same one. Where they have not, one of these
knobs changes what is learned.
"""

import hashlib
import sys
from collections.abc import Iterator, Mapping
from dataclasses import fields, is_dataclass
from typing import Any, Final

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

NUM_BATCHES: Final = 3
"""Batches that are hashed: they lie within every warm-up."""

MAX_ELEMENTS: Final = 2**18
"""Elements of a tensor that are hashed, its first ones."""


class Fingerprint:
    """Fingerprint of one process's training.

    Args:
        num_batches: Batches to hash.
    """

    def __init__(self, num_batches: int = NUM_BATCHES) -> None:
        self._num_left = num_batches
        self._hash = hashlib.blake2b(digest_size=8)
        self._is_empty = True
        self._loss: Tensor | float | None = None

    @property
    def is_open(self) -> bool:
        """True while there are batches to add."""
        return self._num_left > 0

    def add_batch(self, batch: object) -> None:
        """Add a batch; one on a device is copied, so call this between steps.

        Whole numbers alone are hashed where it has any: labels and ids identify a batch,
        and are the same whether a loader or the device makes floats of the rest. A check never
        ends a trial: after a batch that raises an error there is no hash.
        """
        self._num_left -= 1
        try:
            leaves = [leaf for leaf in _leaves(batch) if leaf.size]
        except Exception:  # noqa: BLE001 - of the batch's own class
            self._num_left, self._is_empty = 0, True
            return
        whole = [leaf for leaf in leaves if leaf.dtype.kind in "biuS"]
        for leaf in whole or leaves:
            self._is_empty = False
            self._hash.update(str(leaf.shape).encode())
            self._hash.update(leaf.tobytes())

    def add_loss(self, loss: Tensor | float) -> None:
        """Add the loss of a step; the first one is kept. A tensor is not read yet."""
        if self._loss is None:
            self._loss = loss.detach() if isinstance(loss, Tensor) else loss

    @property
    def batches(self) -> str:
        """Hash of the batches; empty where nothing of them can be hashed."""
        return "" if self._is_empty else self._hash.hexdigest()

    @property
    def first_loss(self) -> float | None:
        """Loss of the first step, None where it is no number; this waits for the device."""
        try:
            return None if self._loss is None else float(self._loss)
        except (TypeError, ValueError, RuntimeError):
            return None


def _leaves(value: Any) -> Iterator[NDArray[Any]]:  # noqa: ANN401 - batches are of any type
    """Yield the start of every tensor and array in ``value``, and its text and whole numbers."""
    if isinstance(value, Tensor):
        if value.layout == torch.strided:
            start = value.detach().reshape(-1)[:MAX_ELEMENTS].cpu()
            is_other = start.dtype.is_floating_point or start.dtype.is_complex
            yield _of_one_type((start.to(torch.float32) if is_other else start).numpy())
    elif isinstance(value, np.ndarray):
        if value.dtype.kind in "biuf":
            yield _of_one_type(value.reshape(-1)[:MAX_ELEMENTS])
    elif isinstance(value, (str, bytes)):
        yield np.array(value.encode() if isinstance(value, str) else value)
    elif isinstance(value, (bool, int, np.integer)):
        yield np.array(int(value) % 2**64, dtype=np.uint64)
    else:
        for part in _parts(value):
            yield from _leaves(part)


def _parts(value: Any) -> Iterator[Any]:  # noqa: ANN401 - batches are of any type
    """Yield the content of a known container; nothing for another value."""
    if callable(identity := getattr(value, "identity", None)):
        yield identity()
    elif isinstance(value, Mapping):
        yield from value.values()
    elif isinstance(value, (tuple, list)):
        yield from value
    elif is_dataclass(value):
        yield from (getattr(value, field.name) for field in fields(value))
    elif (dgl := sys.modules.get("dgl")) is not None and isinstance(value, dgl.DGLGraph):
        yield from (value.edges(etype=kind) for kind in value.canonical_etypes)


def _of_one_type(values: NDArray[Any]) -> NDArray[Any]:
    """Return ``values`` in the type of their kind, so that the same numbers hash the same."""
    kinds = {"i": np.int64, "u": np.int64, "b": np.int64, "f": np.float32}
    return values if values.dtype == np.uint8 else values.astype(kinds[values.dtype.kind])
