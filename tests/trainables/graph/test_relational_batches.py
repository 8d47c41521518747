from pathlib import Path

import numpy as np
import pytest
import torch

from tests.trainables.graph.graphs import symmetric_graph
from tests.trainables.graph.stores import write_store
from trainables.data.formats.relational_store import RelationalStore
from trainables.graph.drawing import UniformDraw
from trainables.graph.places.mapped import MappedMemory
from trainables.graph.relational import RelationalSampler
from trainables.graph.relational_batches import (
    FetchRelational,
    most_relational_bytes,
)
from trainables.graph.sampling import ByTable
from trainables.loading import Draw
from trainables.loading.batch import pinned

INDPTR, INDICES = symmetric_graph()
EDGE_TYPE = np.random.default_rng(5).integers(0, 3, len(INDICES)).astype(np.uint8)
FEATURES = torch.randn(500, 8, generator=torch.Generator().manual_seed(0)).half()
LABELS = torch.arange(500) % 7
SEEDS = np.arange(1, 500, 3)


def fetch(
    *fanouts: int, features: torch.Tensor | None = FEATURES, each_step: bool = True
) -> FetchRelational:
    sampler = RelationalSampler(
        draw=UniformDraw(INDPTR, INDICES, replace=False),
        fanouts=fanouts,
        relabel=ByTable(500),
        edge_type=EDGE_TYPE,
        num_relations=3,
    )
    return FetchRelational(
        sampler=sampler,
        seeds=SEEDS,
        labels=LABELS,
        features=features,
        keys=(4, 1),
        each_step=each_step,
        memory=MappedMemory([], 0),
    )


def draw(*, step: int = 0, indices: tuple[int, ...] = (5, 3, 11, 80)) -> Draw:
    return Draw(epoch=1, step=step, indices=np.array(indices), total=9)


@pytest.mark.parametrize("fanouts", [(3, 4), (25,), (2, 2, 2), (-1, 3), (-1, -1)])
@pytest.mark.parametrize("with_features", [True, False])
def test_no_batch_is_larger_than_its_slot(
    fanouts: tuple[int, ...], with_features: bool, tmp_path: Path
) -> None:
    nodes = np.arange(500)
    arrays = {"indptr": INDPTR, "indices": INDICES, "edge_type": EDGE_TYPE, "labels": nodes}
    arrays |= {"train": nodes, "val": nodes, "test": nodes}
    if with_features:
        arrays["features"] = FEATURES.numpy()
    store = RelationalStore.open(write_store(tmp_path / "store", arrays).path)
    features = FEATURES if with_features else None
    batch = fetch(*fanouts, features=features)(draw(indices=tuple(range(0, 160, 2))))
    tensors = [t for block in batch.blocks for t in block if isinstance(t, torch.Tensor)]
    tensors += [batch.inputs, batch.labels, batch.places]
    num_bytes = sum(-(-tensor.nbytes // 64) * 64 for tensor in tensors)
    assert num_bytes <= most_relational_bytes(80, fanouts, store)


@pytest.mark.gpu
def test_a_batch_can_be_pinned() -> None:
    batch = pinned(fetch(3, 4)(draw()))
    assert batch.inputs.is_pinned()
    assert batch.blocks[0].sources.is_pinned()
    assert batch.blocks[0].bounds == fetch(3, 4)(draw()).blocks[0].bounds
