import gc
from collections.abc import Iterator
from typing import NamedTuple

import torch
from torch import Tensor
from torch.utils.data import DataLoader, Dataset

from trainables.graph.slots import Slots


class Parcel(NamedTuple):
    number: int
    x: Tensor
    nothing: None
    parts: tuple[Tensor, ...]


def parcel(index: int) -> Parcel:
    return Parcel(
        index,
        torch.full((7, 3), float(index)),
        None,
        (torch.arange(index, dtype=torch.int32), torch.tensor([index > 2]), torch.zeros(0, 5)),
    )


class Parcels(Dataset[Parcel]):
    def __init__(self, slots: Slots) -> None:
        self._slots = slots

    def __len__(self) -> int:
        return 40

    def __getitem__(self, index: int) -> Parcel:
        return self._slots.shipped(parcel(index))


def loaded(slots: Slots, num_workers: int = 2) -> Iterator[Parcel]:
    return iter(DataLoader(Parcels(slots), batch_size=None, num_workers=num_workers))


def check(arrived: Parcel, index: int) -> None:
    sent = parcel(index)
    assert arrived.number == index
    assert arrived.nothing is None
    assert torch.equal(arrived.x, sent.x)
    for part, other in zip(arrived.parts, sent.parts, strict=True):
        assert part.dtype == other.dtype
        assert torch.equal(part, other)


def in_a_slot(slots: Slots, tensor: Tensor) -> bool:
    first = slots.memory.ctypes.data
    return first <= tensor.data_ptr() < first + len(slots.memory)


def make_slots(num_bytes: int = 4096) -> Slots:
    return Slots(num_workers=2, prefetch_factor=2, num_bytes=num_bytes)


def test_batches_arrive_through_slots_that_are_used_again_and_again() -> None:
    slots = make_slots()
    for index, arrived in enumerate(loaded(slots)):
        check(arrived, index)
        assert in_a_slot(slots, arrived.x)
        assert in_a_slot(slots, arrived.parts[0]) or index == 0
    del arrived
    gc.collect()
    assert not slots.taken.any()


def test_a_batch_that_is_kept_is_never_written_over() -> None:
    slots = make_slots()
    kept = list(loaded(slots))
    for index, arrived in enumerate(kept):
        check(arrived, index)
    assert in_a_slot(slots, kept[0].x)
    assert not in_a_slot(slots, kept[-1].x)


def test_one_tensor_of_a_batch_keeps_its_slot() -> None:
    slots = make_slots()
    [part] = [arrived.x[2:, 1] for arrived in loaded(slots) if arrived.number == 3]
    gc.collect()
    assert slots.taken.sum() == 1
    assert part.tolist() == [3.0] * 5


def test_a_batch_too_large_for_a_slot_arrives_all_the_same() -> None:
    slots = make_slots(num_bytes=128)
    for index, arrived in enumerate(loaded(slots)):
        check(arrived, index)
        assert index < 10 or not in_a_slot(slots, arrived.x)
