from pathlib import Path
from typing import Any

import numpy as np
import pytest

from tests.trainables.embedding.stores import random_edges, store_folder
from trainables.embedding.link_split import LinkSplit
from trainables.embedding.minibatch import EpochOrder, FetchPairs, Noise, PairBatch
from trainables.embedding.pairs import held_in, pairs_of
from trainables.embedding.walks import WalkPlan, cached_walks
from trainables.graph.drawing import UniformDraw


@pytest.fixture
def split(tmp_path: Path) -> LinkSplit:
    return LinkSplit.of(store_folder(tmp_path, random_edges(60, 400), 60), "all")


@pytest.fixture
def fetch(split: LinkSplit, tmp_path: Path) -> FetchPairs:
    plan = WalkPlan(length=5, per_node=2, seed=0)
    folder = next((tmp_path / "data" / "made").glob("s"))
    pairs = pairs_of(cached_walks(folder, "all", split, plan, 1), 2)
    return FetchPairs(
        pairs=held_in("ndarray", pairs),
        neighbours=UniformDraw(split.indptr, split.indices, replace=True),
        num_neighbours=3,
        noise=Noise(np.diff(split.indptr)),
        num_negatives=4,
        seed=1,
        slots=None,
    )


def order(**changes: int) -> EpochOrder:
    given: dict[str, Any] = {
        "num_samples": 50,
        "num_all": 700,
        "batch_size": 20,
        "seed": 3,
        **changes,
    }
    return EpochOrder(**given)


def test_a_batch_has_centres_neighbours_contexts_and_negatives(
    fetch: FetchPairs, split: LinkSplit
) -> None:
    [draw, *_] = order().epoch(0)
    batch = fetch(draw)
    pairs = fetch.pairs(draw.indices)
    assert batch.centres.tolist() == pairs[:, 0].tolist()
    assert batch.contexts.shape == (20, 5)
    assert batch.contexts[:, 0].tolist() == pairs[:, 1].tolist()
    assert batch.heard.shape == (20, 3)
    for centre, heard in zip(batch.centres.tolist(), batch.heard.tolist(), strict=True):
        assert set(heard) <= set(split.indices[split.indptr[centre] : split.indptr[centre + 1]])
    assert batch.total == 20


def test_ranks_share_the_batch_of_one_process(fetch: FetchPairs) -> None:
    def batches(**ranks: int) -> list[PairBatch]:
        return [fetch(draw) for draw in order(batch_size=21, **ranks).epoch(1)]

    alone = batches()
    shares = [batches(rank=rank, world_size=2) for rank in range(2)]
    for whole, *parts in zip(alone, *shares, strict=True):
        for rank, part in enumerate(parts):
            assert part.centres.tolist() == whole.centres[rank::2].tolist()
            assert part.heard.tolist() == whole.heard[rank::2].tolist()
            assert part.contexts.tolist() == whole.contexts[rank::2].tolist()
            assert part.total == whole.total


def test_each_epoch_draws_its_own_pairs_once_each() -> None:
    epochs = [np.concatenate([draw.indices for draw in order().epoch(e)]) for e in (0, 0, 1)]
    assert np.array_equal(epochs[0], epochs[1])
    assert set(epochs[0]) != set(epochs[2])
    for numbers in epochs:
        assert len(set(numbers)) == 50
        assert numbers.max() < 700
    assert epochs[0].max() > 400  # from all of them
    everything = np.concatenate([d.indices for d in order(num_samples=700).epoch(0)])
    assert sorted(everything) == list(range(700))


def test_negatives_follow_degrees_to_the_power_of_three_quarters() -> None:
    degrees = np.array([0, 1, 16, 81])
    drawn = Noise(degrees).draw(np.arange(20_000), 5, key=9)
    shares = np.bincount(drawn.ravel(), minlength=4) / drawn.size
    assert shares == pytest.approx(np.array([0, 1, 8, 27]) / 36, abs=0.005)
    assert not np.array_equal(drawn, Noise(degrees).draw(np.arange(20_000), 5, key=10))


WALKS = np.array([[1, 2, 3, 4], [5, 6, 5, 7]], dtype=np.int32)


@pytest.mark.parametrize("window", [1, 2, 3, 9])
def test_pairs_are_all_nodes_of_a_walk_that_are_close(window: int) -> None:
    expected = sorted(
        (int(walk[i]), int(walk[j]))
        for walk in WALKS
        for i in range(4)
        for j in range(4)
        if 0 < abs(i - j) <= window
    )
    found = pairs_of(WALKS, window)
    assert found.dtype == np.int32
    assert sorted(map(tuple, found.tolist())) == expected


@pytest.mark.parametrize("container", ["list", "ndarray", "tensor"])
def test_every_container_gives_the_same_pairs(container: Any) -> None:  # noqa: ANN401
    pairs = pairs_of(WALKS, 2)
    numbers = np.array([3, 0, 7, 3])
    found = held_in(container, pairs)(numbers)
    assert found.dtype == np.int64
    assert np.array_equal(found, pairs[numbers])
    assert held_in(container, pairs)(numbers[:0]).shape == (0, 2)
