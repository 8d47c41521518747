from __future__ import annotations

import numpy as np
import pytest
import torch

from tests.trainables.graph.graphs import symmetric_graph
from trainables.graph.drawing import ALL, UniformDraw
from trainables.graph.messages import Aggregator
from trainables.graph.minibatch import (
    FetchMinibatch,
    InputTable,
    Minibatch,
    Named,
    Rows,
    Summed,
    most_bytes,
)
from trainables.graph.sampling import ByTable, NeighbourSampler
from trainables.loading import Draw

INDPTR, INDICES = symmetric_graph()
FEATURES = torch.randn(500, 12, generator=torch.Generator().manual_seed(0))
LABELS = torch.arange(500) % 7
SEEDS = np.arange(0, 500, 3)


def fetch(
    aggregator: Aggregator,
    *fanouts: int,
    looks_up: bool = True,
    features: torch.Tensor = FEATURES,
) -> FetchMinibatch:
    draw = UniformDraw(INDPTR, INDICES, replace=False)
    return FetchMinibatch(
        sampler=NeighbourSampler(draw, fanouts, ByTable(500)),
        seeds=SEEDS,
        labels=LABELS,
        seed=5,
        table=InputTable(features=features, aggregator=aggregator),
        looks_up=looks_up,
        slots=None,
    )


def the_draw(size: int = 40, epoch: int = 0, step: int = 0) -> Draw:
    indices = np.random.default_rng(0).permutation(len(SEEDS))[:size]
    return Draw(epoch=epoch, step=step, indices=indices, total=size)


def test_it_has_the_labels_of_its_seeds() -> None:
    batch = fetch("mean", 3, 4)(the_draw())
    assert batch.labels.tolist() == LABELS[SEEDS[the_draw().indices]].tolist()
    assert batch.total == 40


def test_sums_are_those_of_the_rows_that_were_drawn() -> None:
    summed = fetch("mean", 3, 4)(the_draw()).inputs
    named = fetch("mean", 3, 4, looks_up=False)(the_draw()).inputs
    assert isinstance(summed, Summed)
    assert isinstance(named, Named)
    indptr = named.adjacency.indptr
    for place, node in enumerate(named.nodes):
        ids = named.adjacency.indices[indptr[place] : indptr[place + 1]]
        mean = FEATURES[ids].mean(0) if len(ids) else torch.zeros(12)
        torch.testing.assert_close(summed.heard[place], mean)
        assert summed.own is not None
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
            assert isinstance(other, torch.Tensor)
            assert torch.equal(one, other)


def test_a_pooling_layer_gets_each_row_once() -> None:
    inputs = fetch("pool", 3, 4)(the_draw()).inputs
    assert isinstance(inputs, Rows)
    assert len(torch.unique(inputs.x, dim=0)) == len(inputs.x)
    assert int(inputs.adjacency.indices.max()) < len(inputs.x)


def test_gcn_sends_no_features_of_its_own() -> None:
    inputs = fetch("gcn", 3, 4)(the_draw()).inputs
    assert isinstance(inputs, Summed)
    assert inputs.own is None


def test_epoch_and_step_decide_the_sample() -> None:
    def heard(epoch: int, step: int) -> list[int]:
        named = fetch("mean", 3, 4, looks_up=False)(the_draw(epoch=epoch, step=step)).inputs
        assert isinstance(named, Named)
        ids: list[int] = named.adjacency.indices.tolist()
        return ids

    assert heard(0, 0) == heard(0, 0)
    assert len({tuple(heard(*place)) for place in ((0, 0), (0, 1), (1, 0))}) == 3


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


def test_counting_bytes_counts_something() -> None:
    batch: Minibatch = fetch("mean", 3, 4)(the_draw())
    assert num_bytes(batch) > 40 * 12 * 4
