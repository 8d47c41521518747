"""Adjacency: neighbours of targets, of some of them, and of the sources of a backward pass."""

from __future__ import annotations

import numpy as np
import torch

from tests.trainables.graph.graphs import random_block, symmetric_graph
from trainables.graph.adjacency import Adjacency, adjacency_with_gradient

INDPTR, INDICES = (torch.from_numpy(array) for array in symmetric_graph())
GRAPH = Adjacency.symmetric(INDPTR, INDICES)


def neighbours(adjacency: Adjacency, target: int) -> list[int]:
    first, last = adjacency.indptr[target : target + 2].tolist()
    return adjacency.indices[first:last].tolist()


def test_targets_of_an_adjacency_are_picked_with_their_neighbours() -> None:
    picked = GRAPH.of(torch.tensor([3, 499, 3, 0]))
    assert picked.num_targets == 4
    for place, node in enumerate((3, 499, 3, 0)):
        assert neighbours(picked, place) == neighbours(GRAPH, node)


def test_targets_between_two_positions_keep_their_neighbours() -> None:
    part = GRAPH.between(10, 14)
    assert part.num_targets == 4
    assert [neighbours(part, place) for place in range(4)] == [
        neighbours(GRAPH, node) for node in range(10, 14)
    ]


def test_degrees_are_counts_of_neighbours_and_add_up_to_the_edges() -> None:
    degrees = GRAPH.degrees()
    assert degrees[3] == len(neighbours(GRAPH, 3)) > 0
    assert degrees[-1] == 0, "the last tenth hears nothing"
    assert degrees.sum() == GRAPH.num_edges


def test_the_way_back_has_the_same_edges_seen_from_the_sources() -> None:
    _, block = random_block()
    assert block.out_indptr is not None
    assert block.out_indices is not None
    back = Adjacency(block.out_indptr, block.out_indices)
    there = {(s, t) for t in range(block.num_targets) for s in neighbours(block, t)}
    assert {(s, t) for s in range(back.num_targets) for t in neighbours(back, s)} == there
    assert back.num_targets == 300


def test_a_source_that_nobody_hears_has_no_way_back() -> None:
    adjacency = adjacency_with_gradient(np.array([0, 1], np.int32), np.array([2], np.int32), 4)
    assert adjacency.out_indptr is not None
    assert adjacency.out_indptr.tolist() == [0, 0, 0, 1, 1]


def test_a_symmetric_graph_stays_one_copy_where_it_moves_to() -> None:
    moved = GRAPH.to(torch.device("meta"))
    assert moved.out_indices is moved.indices
    assert moved.indices.device.type == "meta"
    _, block = random_block()
    there = block.to(torch.device("meta"))
    assert there.out_indices is not there.indices
    assert Adjacency(INDPTR, INDICES).to(torch.device("meta")).out_indices is None
