"""Means of neighbours' features, in as little memory as asked for."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from tests.trainables.data.formats.edge_lists import drawn, end, naive
from trainables.data.formats import neighbour_means
from trainables.data.formats.neighbour_means import Neighbours
from trainables.data.formats.relational_columns import Columns, EdgeList, write_columns


def test_means_of_neighbours_equal_a_naive_way(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(neighbour_means, "_CHUNK_NODES", 32)
    monkeypatch.setattr(neighbour_means, "_CHUNK_EDGES", 100)
    monkeypatch.setattr(neighbour_means, "_ROWS_AT_ONCE", 7)
    lists = drawn(seed=1)
    lists[1] = EdgeList(  # into the first 100 nodes; the last ten have no such edge
        relation=1, source=lists[1].source, target=end(lists[1].target.nodes % 90, 0, 100)
    )
    write_columns(tmp_path, lists, 400)
    features = np.random.default_rng(0).standard_normal((300, 5)).astype(np.float16)
    np.save(tmp_path / "features.npy", features)

    mapped = np.load(tmp_path / "features.npy", mmap_mode="c")
    neighbours = Neighbours(columns=Columns.open(tmp_path), relation=1, features=mapped, offset=100)
    means = np.concatenate(list(neighbours.means(0, 100)))

    expected = np.zeros((100, 5))
    edges = [edge for edge in naive(lists) if edge[1] == 1]
    for node in range(90):
        sources = [source - 100 for target, _, source in edges if target == node]
        expected[node] = features[sources].astype(np.float64).mean(axis=0)
    assert np.allclose(means, expected, atol=1e-5)
    assert not means[90:].any()
