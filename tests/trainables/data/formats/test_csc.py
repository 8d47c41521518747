"""Edge lists to compressed columns, against a naive way."""

from __future__ import annotations

import numpy as np

from trainables.data.formats.csc import compressed, doubled, pack, reversed_keys, undirected

SOURCES, TARGETS = np.array([3, 0, 2, 0, 3]), np.array([1, 1, 3, 0, 1])


def edges_of(keys: np.ndarray) -> list[tuple[int, int]]:
    """Return target and source of packed edges."""
    return [(int(key) >> 32, int(key) & (2**32 - 1)) for key in keys]


def test_sources_of_each_target_are_ascending_and_given_as_often_as_in_the_list() -> None:
    indptr, indices = compressed(SOURCES, TARGETS, num_nodes=5)
    assert (indptr.dtype, indices.dtype) == (np.int64, np.int64)
    columns = [indices[indptr[node] : indptr[node + 1]].tolist() for node in range(5)]
    assert columns == [[0], [0, 3, 3], [], [2], []]


def test_packed_edges_sort_by_target_then_source_and_can_be_reversed() -> None:
    keys = np.sort(pack(TARGETS, SOURCES))
    assert edges_of(keys) == [(0, 0), (1, 0), (1, 3), (1, 3), (3, 2)]
    assert edges_of(reversed_keys(keys)) == [(0, 0), (0, 1), (3, 1), (3, 1), (2, 3)]


def test_doubled_edges_are_there_both_ways_as_often_as_before() -> None:
    keys = pack(np.array([1, 2]), np.array([0, 1]))
    assert edges_of(doubled(keys)) == [(0, 1), (1, 0), (1, 2), (2, 1)]


def test_edges_of_one_direction_become_undirected_and_others_stay() -> None:
    mixed = pack(np.array([1, 0, 2]), np.array([0, 1, 1]))
    assert edges_of(undirected(mixed)) == [(0, 1), (1, 0), (1, 2), (2, 1)]
    both_twice = pack(np.array([1, 1, 0, 0]), np.array([0, 0, 1, 1]))
    assert edges_of(undirected(both_twice)) == [(0, 1), (0, 1), (1, 0), (1, 0)]
