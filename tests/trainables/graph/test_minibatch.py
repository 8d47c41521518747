from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
import torch

from orchestrator.errors import DataError
from tests.trainables.embedding.stores import store_folder
from tests.trainables.graph.graphs import symmetric_graph
from trainables.data.formats.graph_store import GraphStore
from trainables.graph.components import in_largest_component, training_nodes
from trainables.graph.drawing import ALL, UniformDraw
from trainables.graph.messages import Aggregator
from trainables.graph.minibatch import FetchMinibatch, InputTable, most_bytes
from trainables.graph.places.features import FeatureTable
from trainables.graph.sampling import ByTable, NeighbourSampler
from trainables.loading import Draw

INDPTR, INDICES = symmetric_graph()
FEATURES = torch.randn(500, 12, generator=torch.Generator().manual_seed(0))
LABELS = torch.arange(500) % 7
SEEDS = np.arange(0, 500, 3)


def fetch(
    aggregator: Aggregator, *fanouts: int, looks_up: bool = True, features: torch.Tensor = FEATURES
) -> FetchMinibatch:
    draw = UniformDraw(INDPTR, INDICES, replace=False)
    return FetchMinibatch(
        sampler=NeighbourSampler(draw, fanouts, ByTable(500)),
        seeds=SEEDS,
        labels=LABELS,
        seed=5,
        table=InputTable(
            features=FeatureTable(features=features, in_loader=looks_up), aggregator=aggregator
        ),
    )


def the_draw(size: int = 40, epoch: int = 0, step: int = 0) -> Draw:
    indices = np.random.default_rng(0).permutation(len(SEEDS))[:size]
    return Draw(epoch=epoch, step=step, indices=indices, total=size)


def test_sums_are_those_of_the_rows_that_were_drawn() -> None:
    summed = fetch("mean", 3, 4)(the_draw()).inputs
    named = fetch("mean", 3, 4, looks_up=False)(the_draw()).inputs
    indptr = named.adjacency.indptr
    for place, node in enumerate(named.nodes):
        ids = named.adjacency.indices[indptr[place] : indptr[place + 1]]
        mean = FEATURES[ids].mean(0) if len(ids) else torch.zeros(12)
        torch.testing.assert_close(summed.heard[place], mean)
        assert torch.equal(summed.own[place], FEATURES[node])


@pytest.mark.parametrize("aggregator", ["mean", "gcn", "pool"])
def test_looking_up_in_the_step_gives_what_looking_up_in_the_loader_gives(
    aggregator: Aggregator,
) -> None:
    here, there = (fetch(aggregator, 3, 4, looks_up=where) for where in (True, False))
    found = there.table.looked_up(there(the_draw()).inputs)
    expected = here(the_draw()).inputs
    assert type(found) is type(expected)
    for one, other in zip(found, expected, strict=True):
        if isinstance(one, torch.Tensor):
            assert torch.equal(one, other)


@pytest.mark.parametrize("aggregator", ["mean", "gcn", "pool"])
@pytest.mark.parametrize("fanouts", [(3,), (3, 4), (2, 3, 4), (ALL, 2)])
@pytest.mark.parametrize("looks_up", [True, False])
def test_a_batch_is_never_larger_than_it_can_be(
    aggregator: Aggregator, fanouts: tuple[int, ...], looks_up: bool
) -> None:
    for features in (FEATURES, FEATURES.repeat(1, 20)):
        fetched = fetch(aggregator, *fanouts, looks_up=looks_up, features=features)
        assert num_bytes(fetched(the_draw())) <= most_bytes(40, fanouts, fetched.table)


def num_bytes(thing: object) -> int:
    if isinstance(thing, torch.Tensor):
        return thing.nbytes
    return sum(map(num_bytes, thing)) if isinstance(thing, tuple) else 0


def test_the_largest_component_is_found() -> None:
    # 0-1, 2-3-4, 5 alone
    indptr = np.array([0, 1, 2, 3, 5, 6, 6])
    indices = np.array([1, 0, 3, 2, 4, 3])
    assert in_largest_component(indptr, indices).tolist() == [False] * 2 + [True] * 3 + [False]


def test_nodes_without_edges_are_outside() -> None:
    indptr, indices = symmetric_graph()
    inside = in_largest_component(indptr, indices)
    assert inside[:450].mean() > 0.95
    assert not inside[450:].any()


def test_a_component_without_training_nodes_is_refused(tmp_path: Path) -> None:
    folder = store_folder(tmp_path, np.array([[0, 1], [2, 3], [3, 4]]), 6)
    store = replace(GraphStore.open(folder), train=np.array([0, 3]))
    assert training_nodes(store, "all").tolist() == [0, 3]
    assert training_nodes(store, "largest_component").tolist() == [3]
    elsewhere = replace(store, train=np.array([0, 5]))
    with pytest.raises(
        DataError, match="made has no training node with graph_scope=largest_"
    ) as no:
        training_nodes(elsewhere, "largest_component")
    assert no.value.hint == "set graph_scope=all"
    with pytest.raises(DataError, match="made has no training node with graph_scope=all"):
        training_nodes(replace(store, train=store.val), "all")
