import threading
import time
from collections.abc import Iterator
from typing import Any, Literal

import pytest
import torch

from tests.helping import awaited
from trainables.loading import Batch, Delivery, keep_for, moved, pinned

CPU = torch.device("cpu")
Prefetch = Literal["off", "thread", "stream"]
ON_CPU: tuple[Prefetch, ...] = ("off", "thread")


def batches(count: int = 5) -> Iterator[Batch]:
    for index in range(count):
        yield Batch(torch.full((3,), float(index)), torch.full((3,), index), 3)


@pytest.mark.parametrize("prefetch", ON_CPU)
def test_batches_arrive_in_order(prefetch: Prefetch) -> None:
    arrivals = Delivery(CPU, prefetch=prefetch).of(batches())
    assert [float(a.on_device().inputs[0]) for a in arrivals] == [0, 1, 2, 3, 4]


def test_a_thread_fetches_the_next_batch_while_this_one_computes() -> None:
    fetched: list[int] = []
    allowed = threading.Event()

    def slow() -> Iterator[int]:
        for index in range(3):
            if index == 1:
                allowed.wait(10)
            fetched.append(threading.get_ident())
            yield index

    arrivals = iter(Delivery(CPU, prefetch="thread").of(slow()))
    assert next(arrivals).on_device() == 0
    # The loop has batch 0; batch 1 arrives although it was not asked for.
    allowed.set()
    awaited(lambda: len(fetched) >= 2, "a second batch")
    assert threading.get_ident() not in fetched
    assert [a.on_device() for a in arrivals] == [1, 2]


@pytest.mark.parametrize("prefetch", ON_CPU)
def test_a_failure_in_fetching_reaches_the_loop(prefetch: Prefetch) -> None:
    def failing() -> Iterator[int]:
        yield 0
        raise ValueError("no more")

    arrivals = iter(Delivery(CPU, prefetch=prefetch).of(failing()))
    next(arrivals)
    with pytest.raises(ValueError, match="no more"):
        next(arrivals)


def test_a_loop_left_early_leaves_no_thread() -> None:
    arrivals = iter(Delivery(CPU, prefetch="thread").of(batches()))
    next(arrivals)
    del arrivals
    assert not [t for t in threading.enumerate() if t.name.startswith("prefetch")]


def test_a_stream_needs_a_gpu() -> None:
    with pytest.raises(ValueError, match="needs a CUDA device, not cpu"):
        Delivery(CPU, prefetch="stream")


def test_every_epoch_and_evaluation_copies_on_one_stream(monkeypatch: pytest.MonkeyPatch) -> None:
    made: list[torch.device] = []
    monkeypatch.setattr(torch.cuda, "Stream", made.append)
    nowhere = torch.device("cuda", 100)  # that no other test has a stream of
    for delivery in (Delivery(nowhere, prefetch="thread"), Delivery(nowhere, prefetch="stream")):
        for _ in range(2):
            assert list(delivery.of([])) == []
    assert made == [nowhere]


@pytest.mark.gpu
@pytest.mark.parametrize("prefetch", ["off", "thread", "stream"])
def test_batches_reach_the_gpu_unchanged(prefetch: Prefetch) -> None:
    device = torch.device("cuda:0")
    source = [
        Batch(torch.full((1 << 20,), float(i)).pin_memory(), torch.full((3,), i), 3)
        for i in range(8)
    ]
    sums = []
    for arriving in Delivery(device, non_blocking=True, prefetch=prefetch).of(source):
        batch = arriving.on_device()
        assert batch.inputs.device == device
        for _ in range(50):  # keep the compute stream busy, so that memory given away too
            batch.inputs.mul_(1.0)  # early would be overwritten
        sums.append(batch.inputs.sum())
    assert [float(s) for s in sums] == [i * (1 << 20) for i in range(8)]


@pytest.mark.gpu
def test_streamed_copies_overlap_with_computing() -> None:
    device = torch.device("cuda:0")
    source = [torch.empty(64 << 20, dtype=torch.uint8, pin_memory=True) for _ in range(20)]
    factor = torch.rand(2048, 2048, device=device)

    def duration_s(prefetch: Prefetch, products: int) -> float:
        torch.cuda.synchronize()
        began = time.perf_counter()
        for arriving in Delivery(device, non_blocking=True, prefetch=prefetch).of(source):
            arriving.on_device()
            for _ in range(products):
                torch.mm(factor, factor)
        torch.cuda.synchronize()
        return time.perf_counter() - began

    duration_s("off", 1)
    # As long as a copy takes, whatever the GPU: then there is the most to gain.
    copies_s, more_s = duration_s("off", 0), duration_s("off", 10)
    products = max(1, round(10 * copies_s / max(more_s - copies_s, 1e-9)))
    one_after_the_other = min(duration_s("off", products) for _ in range(3))
    overlapped = min(duration_s("stream", products) for _ in range(3))
    assert overlapped < 0.9 * one_after_the_other


class Graph:
    """Anything with a ``to``, as a DGL block has."""

    def __init__(self) -> None:
        self.at = "nowhere"
        self.kept_for: list[object] = []

    def to(self, device: torch.device, *, non_blocking: bool) -> "Graph":
        there = Graph()
        there.at = f"{device} {non_blocking}"
        return there

    def record_stream(self, stream: object) -> None:
        self.kept_for.append(stream)


def test_everything_in_a_batch_that_can_be_moved_is() -> None:
    device = torch.device("meta")
    batch: Any = {
        "batch": Batch(torch.zeros(2, 3), torch.zeros(2), 4),
        "blocks": [Graph(), (torch.ones(1), "text")],
        "none": None,
    }
    there = moved(batch, device, non_blocking=True)
    assert isinstance(there["batch"], Batch)
    assert there["batch"].inputs.device == device
    assert there["batch"].labels.device == device
    assert there["batch"].total == 4
    graph, (tensor, text) = there["blocks"]
    assert graph.at == "meta True"
    assert tensor.device == device
    assert (text, there["none"]) == ("text", None)
    assert batch["batch"].inputs.device == torch.device("cpu")


def test_the_memory_of_every_part_is_kept_for_the_stream() -> None:
    graphs = [Graph(), Graph()]
    keep_for({"a": graphs[0], "b": (graphs[1], 3, None)}, "stream")  # type: ignore[arg-type]
    assert [graph.kept_for for graph in graphs] == [["stream"], ["stream"]]


@pytest.mark.gpu
def test_pinning_goes_through_a_batch() -> None:
    batch = pinned(Batch(torch.zeros(2, 3), torch.zeros(2), 4))
    assert batch.inputs.is_pinned()
    assert batch.labels.is_pinned()
