from __future__ import annotations

from typing import Any

import pytest
import torch

from trainables.loading import Batch, keep_for, moved, pinned
from trainables.loading.batch import num_samples


class Graph:
    """Anything with a ``to``, as a DGL block has."""

    def __init__(self) -> None:
        self.at = "nowhere"
        self.kept_for: list[object] = []

    def to(self, device: torch.device, *, non_blocking: bool) -> Graph:
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


def test_samples_are_those_of_all_ranks() -> None:
    assert num_samples(Batch(torch.zeros(2, 3), torch.zeros(2), 3)) == 3


@pytest.mark.gpu
def test_pinning_goes_through_a_batch() -> None:
    batch = pinned(Batch(torch.zeros(2, 3), torch.zeros(2), 4))
    assert batch.inputs.is_pinned()
    assert batch.labels.is_pinned()
