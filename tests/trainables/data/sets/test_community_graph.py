"""Random graphs: as many nodes and edges as asked for, in nested communities."""

from __future__ import annotations

import numpy as np
import pytest

from trainables.data.formats.arrays import Array
from trainables.data.formats.csc import unpack
from trainables.data.sets.community_graph import (
    Communities,
    both_directions,
    draw_communities,
    draw_edges,
)

NUM_NODES, NUM_EDGES = 4000, 40_000


@pytest.fixture(scope="module")
def communities() -> Communities:
    return draw_communities(NUM_NODES, 5, np.random.default_rng(0))


def edges_of(communities: Communities, names: Array, seed: int = 1) -> Array:
    """Return the packed edges of a graph."""
    return draw_edges(communities, NUM_EDGES, names, np.random.default_rng(seed))


def ends_of(keys: Array) -> tuple[Array, Array]:
    return keys >> 32, keys & (2**32 - 1)


@pytest.fixture(scope="module")
def keys(communities: Communities) -> Array:
    return edges_of(communities, np.arange(NUM_NODES, dtype=np.int32))


def test_communities_are_nested_in_classes_of_falling_size(communities: Communities) -> None:
    assert communities.num_nodes == NUM_NODES
    sizes = np.bincount(communities.class_of)
    assert len(sizes) == communities.num_classes == 5
    assert sizes[0] > 1.5 * sizes[1] > 1.5 * sizes[4]
    assert (np.diff(communities.community_of) >= 0).all()
    pairs = set(zip(communities.community_of.tolist(), communities.class_of.tolist(), strict=True))
    assert len(pairs) == communities.num_communities, "each is of one class"


def test_edges_are_as_many_as_asked_for_distinct_and_no_loops(keys: Array) -> None:
    assert len(keys) == NUM_EDGES
    assert (np.diff(keys) > 0).all(), "ascending, none twice"
    smaller, larger = ends_of(keys)
    assert (smaller < larger).all()
    assert larger.max() < NUM_NODES


def test_most_edges_stay_within_a_community_and_more_within_a_class(
    communities: Communities, keys: Array
) -> None:
    first, second = ends_of(keys)
    within = {
        name: (groups[first] == groups[second]).mean()
        for name, groups in (
            ("community", communities.community_of), ("class", communities.class_of),
        )
    }  # fmt: skip
    assert 0.35 < within["community"] < within["class"] - 0.1
    assert within["class"] < 0.95, "some lead anywhere"


def test_no_node_has_more_than_a_part_of_the_edges(keys: Array) -> None:
    degrees = np.bincount(np.concatenate(ends_of(keys)), minlength=NUM_NODES)
    assert degrees.max() <= 1.25 * 10 * degrees.mean()
    assert np.median(degrees) < degrees.mean()


def test_names_are_all_that_renaming_changes(communities: Communities, keys: Array) -> None:
    names = np.random.default_rng(3).permutation(NUM_NODES).astype(np.int32)
    renamed = edges_of(communities, names)
    place = np.argsort(names)
    back = np.sort(place[np.stack(ends_of(renamed))], axis=0)
    communities_of = communities.community_of
    share = (communities_of[back[0]] == communities_of[back[1]]).mean()
    first, second = ends_of(keys)
    assert share == pytest.approx(
        (communities_of[first] == communities_of[second]).mean(), abs=0.03
    )


def test_the_same_seed_draws_the_same_graph(communities: Communities, keys: Array) -> None:
    names = np.arange(NUM_NODES, dtype=np.int32)
    assert np.array_equal(edges_of(communities, names), keys)
    assert not np.array_equal(edges_of(communities, names, seed=2), keys)


def test_each_edge_is_there_in_both_directions(keys: Array) -> None:
    indptr, indices = both_directions(keys.copy(), NUM_NODES)
    targets = np.repeat(np.arange(NUM_NODES), np.diff(indptr))
    assert len(indices) == 2 * NUM_EDGES
    there = np.sort(targets * NUM_NODES + indices)
    assert np.array_equal(there, np.sort(indices * NUM_NODES + targets))
    one_way, _ = unpack(keys.copy(), NUM_NODES)
    assert one_way[-1] == NUM_EDGES
