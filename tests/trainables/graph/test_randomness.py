"""Random numbers of nodes: of their key alone, whoever draws them, and uniform."""

from __future__ import annotations

import numpy as np

from trainables.graph.randomness import below, key_of, random_bits

NODES = np.arange(20_000)


def test_every_part_of_a_key_matters_and_so_does_the_order() -> None:
    keys = [key_of(), key_of(0), key_of(0, 0), key_of(1, 2), key_of(2, 1), key_of(1, 3), key_of(1)]
    assert len(set(keys)) == len(keys)
    assert all(0 <= key < 2**64 for key in keys)
    assert key_of(1, 2) == key_of(1, 2)


def test_a_node_s_numbers_do_not_depend_on_the_others() -> None:
    """Ranks and workers see other parts of a batch, and must draw the same."""
    key = key_of(7, 3)
    every = random_bits(NODES, 5, key)
    some = np.array([19_999, 3, 4, 3])
    assert np.array_equal(random_bits(some, 5, key), every[some])
    assert np.array_equal(random_bits(NODES, 2, key), every[:, :2]), "nor on how many are drawn"


def test_nodes_are_left_as_they_are() -> None:
    nodes = NODES.copy()
    random_bits(nodes, 2, key_of(1))
    assert np.array_equal(nodes, NODES)


def test_other_keys_and_other_draws_give_other_numbers() -> None:
    first, second = random_bits(NODES, 2, key_of(0)), random_bits(NODES, 2, key_of(1))
    assert (first == second).mean() < 1e-3
    assert (first[:, 0] == first[:, 1]).mean() < 1e-3
    assert abs(np.corrcoef(first[:, 0], first[:, 1])[0, 1]) < 0.03


def test_scaled_numbers_are_uniform_below_their_limit() -> None:
    bits = random_bits(NODES, 1, key_of(5))[:, 0]
    drawn = below(bits, np.full(len(NODES), 10, np.uint64))
    counts = np.bincount(drawn.astype(np.int64))
    assert len(counts) == 10
    # chi squared with 9 degrees of freedom: above 33.7 once in 10,000 such keys
    assert ((counts - 2000) ** 2 / 2000).sum() < 33.7


def test_a_limit_of_one_leaves_only_zero() -> None:
    bits = random_bits(NODES, 1, key_of(5))[:, 0]
    assert not below(bits, np.ones(len(NODES), np.uint64)).any()
    assert below(np.array([2**32 - 1], np.uint64), np.array([7], np.uint64)).tolist() == [6]
