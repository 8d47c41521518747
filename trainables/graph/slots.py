"""Shared memory through which loader workers hand batches to the training process.

A DataLoader sends every tensor in a separate shared file: made, mapped twice, faulted in
page by page and released, for each tensor of each batch. That costs more than a fast
sampler. Here a worker writes a whole batch into one of a few slots that stay mapped, and
sends its place.
"""

from __future__ import annotations

import io
import itertools
import mmap
import pickle
import sys
import weakref
from collections.abc import Callable
from typing import Any, TypeVar, cast

import numpy as np
import torch
from torch import Tensor
from torch.utils.data import get_worker_info

from trainables.settings import LoaderKnobs

B = TypeVar("B")

# As torch aligns its tensors.
_ALIGNMENT = 64
_SHARED = mmap.MAP_SHARED | mmap.MAP_ANONYMOUS
# Linux's MAP_NORESERVE, which Python has no name for: pages that are never written do not count.
_UNRESERVED = _SHARED | (0x4000 if sys.platform == "linux" else 0)
LARGEST_SLOT_BYTES = 2**30
"""The DataLoader sends a larger batch."""

_IN_USE = 3
"""Most batches of one worker that a training loop has: before, current, next."""


class Slots:
    """Slots of shared memory, some for each worker, made before the workers are forked.

    Its worker takes a slot; it is free again when the last tensor over it is gone from
    the training process. The DataLoader sends a batch for which no slot is free, or large
    enough.

    Args:
        num_workers: Loader processes.
        prefetch_factor: Batches that each prepares ahead.
        num_bytes: Size of a slot. Only pages that are written to take memory.

    Attributes:
        memory: Bytes of all slots.
        taken: True for each slot that a tensor lies in.
    """

    def __init__(self, *, num_workers: int, prefetch_factor: int, num_bytes: int) -> None:
        self._per_worker = prefetch_factor + _IN_USE
        self._num_bytes = _aligned(min(num_bytes, LARGEST_SLOT_BYTES))
        count = num_workers * self._per_worker
        # Without a name: /dev/shm is small in containers, and a kill would leave files there.
        memory = mmap.mmap(-1, count * self._num_bytes, flags=_UNRESERVED)
        self.memory = np.frombuffer(memory, dtype=np.uint8)
        self.taken = np.frombuffer(mmap.mmap(-1, count), dtype=np.bool_)
        self._key = next(_keys)
        _slots[self._key] = self

    @classmethod
    def between(cls, knobs: LoaderKnobs, num_bytes: int) -> Slots | None:
        """Slots for a loader with these knobs; None where it has no workers."""
        if not knobs.num_workers:
            return None
        return cls(
            num_workers=knobs.num_workers,
            prefetch_factor=knobs.prefetch_factor,
            num_bytes=num_bytes,
        )

    def shipped(self, batch: B) -> B:
        """In a worker: ``batch``, wrapped to arrive through a slot; else ``batch``."""
        worker = get_worker_info()
        if worker is None:
            return batch
        first = worker.id * self._per_worker
        free = np.flatnonzero(~self.taken[first : first + self._per_worker])
        if not len(free):
            return batch
        slot = first + int(free[0])
        packer = _Packer(self._bytes(slot))
        try:
            packer.dump(batch)
        except _SlotTooSmall:
            return batch
        # No lock: only its worker takes a slot, and only the training process releases it.
        self.taken[slot] = True
        return cast("B", _Shipment(self._key, slot, packer.file.getvalue()))

    def received(self, slot: int, content: bytes) -> Any:  # noqa: ANN401 - whatever was shipped
        """In the training process: the batch that was packed into ``slot``."""
        memory = self._bytes(slot)
        # Every tensor made of it keeps this very view alive.
        weakref.finalize(memory, self._release, slot)
        return _Unpacker(content, torch.from_numpy(memory)).load()

    def _release(self, slot: int) -> None:
        self.taken[slot] = False

    def _bytes(self, slot: int) -> np.ndarray:
        return self.memory[slot * self._num_bytes : (slot + 1) * self._num_bytes]


_keys = itertools.count()
# Weak, so that a loader's slots end with it: their pages stay in memory until then.
_slots: weakref.WeakValueDictionary[int, Slots] = weakref.WeakValueDictionary()


class _Shipment:
    """Batch that pickles as its place and unpickles as itself."""

    def __init__(self, key: int, slot: int, content: bytes) -> None:
        self._place = (key, slot, content)

    def __reduce__(self) -> tuple[Callable[..., Any], tuple[int, int, bytes]]:
        return _arrived, self._place


def _arrived(key: int, slot: int, content: bytes) -> Any:  # noqa: ANN401 - whatever was shipped
    return _slots[key].received(slot, content)


class _SlotTooSmall(Exception):
    pass


class _Packer(pickle.Pickler):
    """Pickler that writes tensors to a slot, and everything else to ``file`` with their places."""

    def __init__(self, memory: np.ndarray) -> None:
        self.file = io.BytesIO()
        super().__init__(self.file, protocol=pickle.HIGHEST_PROTOCOL)
        self.memory = torch.from_numpy(memory)
        self._end = 0

    def persistent_id(self, thing: object) -> tuple[int, torch.dtype, tuple[int, ...]] | None:
        """The place of a tensor; None for anything else."""
        if not isinstance(thing, Tensor):
            return None
        begin = self._end
        self._end = begin + _aligned(thing.nbytes)
        if self._end > len(self.memory):
            raise _SlotTooSmall
        _view(self.memory, begin, thing.dtype, tuple(thing.shape)).copy_(thing)
        return begin, thing.dtype, tuple(thing.shape)


class _Unpacker(pickle.Unpickler):
    """The inverse of :class:`_Packer`; the tensors are views of the slot."""

    def __init__(self, content: bytes, memory: Tensor) -> None:
        super().__init__(io.BytesIO(content))
        self.memory = memory

    def persistent_load(self, place: tuple[int, torch.dtype, tuple[int, ...]]) -> Tensor:
        """The tensor at ``place``."""
        return _view(self.memory, *place)


def _view(memory: Tensor, begin: int, dtype: torch.dtype, shape: tuple[int, ...]) -> Tensor:
    num_bytes = dtype.itemsize * int(np.prod(shape, dtype=np.int64))
    return memory[begin : begin + num_bytes].view(dtype).view(shape)


def _aligned(num_bytes: int) -> int:
    return -(-num_bytes // _ALIGNMENT) * _ALIGNMENT
