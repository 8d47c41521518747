"""Compressed columns of edge lists, and both directions of their edges."""

from __future__ import annotations

from collections import Counter

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from tests.trainables.data.formats.csc_graphs import compressed
from trainables.data.formats.csc import doubled, pack, undirected, unpack

NUM_NODES = 6
EDGES = st.lists(st.tuples(*[st.integers(0, NUM_NODES - 1)] * 2), min_size=1, max_size=30)
Edge = tuple[int, int]


def packed(edges: list[Edge]) -> np.ndarray:
    sources, targets = np.array(edges).T
    return pack(targets, sources)


def unpacked(keys: np.ndarray) -> list[Edge]:
    indptr, indices = unpack(keys.copy(), NUM_NODES)
    targets = np.repeat(np.arange(NUM_NODES), np.diff(indptr))
    return list(zip(indices.tolist(), targets.tolist(), strict=True))


def back(edges: list[Edge]) -> list[Edge]:
    return [(target, source) for source, target in edges]


@given(EDGES)
def test_columns_hold_the_edges_that_were_given(edges: list[Edge]) -> None:
    sources, targets = np.array(edges).T
    indptr, indices = compressed(sources, targets, NUM_NODES)
    found = zip(indices.tolist(), np.repeat(np.arange(NUM_NODES), np.diff(indptr)), strict=True)
    assert sorted(found) == sorted(edges)
    assert list(unpacked(packed(sorted(edges, key=lambda edge: edge[::-1])))) == sorted(
        edges, key=lambda edge: edge[::-1]
    )


@given(EDGES)
def test_doubled_edges_are_there_once_more_the_other_way(edges: list[Edge]) -> None:
    assert Counter(unpacked(doubled(packed(edges)))) == Counter(edges + back(edges))


@given(EDGES)
def test_an_undirected_graph_has_each_edge_both_ways_as_often(edges: list[Edge]) -> None:
    found = unpacked(undirected(packed(edges)))
    assert Counter(found) == Counter(back(found))
    assert set(found) == set(edges + back(edges))


@given(EDGES)
def test_edges_that_are_there_both_ways_stay_as_they_are(edges: list[Edge]) -> None:
    both = edges + back(edges)
    assert Counter(unpacked(undirected(packed(both)))) == Counter(both)
