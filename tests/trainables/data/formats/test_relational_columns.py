"""Means of neighbours' features, in as little memory as asked for."""

from pathlib import Path

import numpy as np
import pytest

from orchestrator.errors import DataError
from tests.trainables.data.formats.edge_lists import drawn, end, naive
from trainables.data.formats import neighbour_means, relational_columns
from trainables.data.formats.neighbour_means import Neighbours
from trainables.data.formats.relational_columns import Columns, EdgeList, write_columns


def edges_in(columns: Columns) -> list[tuple[int, int, int]]:
    targets = np.repeat(np.arange(len(columns.indptr) - 1), np.diff(columns.indptr))
    parts = (targets, columns.edge_type, columns.indices)
    return list(zip(*(part.tolist() for part in parts), strict=True))


@pytest.mark.parametrize("bucket_edges", [10**9, 4000, 100])
@pytest.mark.parametrize("chunk_edges", [1 << 22, 700])
def test_equals_a_naive_way_however_little_is_in_memory(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, bucket_edges: int, chunk_edges: int
) -> None:
    monkeypatch.setattr(relational_columns, "_CHUNK_EDGES", chunk_edges)
    lists = drawn(seed=bucket_edges)
    num_edges = write_columns(tmp_path, lists, 400, bucket_edges=bucket_edges)
    columns = Columns.open(tmp_path)
    assert edges_in(columns) == naive(lists)
    assert num_edges == len(columns.indices) < 15_000  # some are given twice
    assert {path.name for path in tmp_path.iterdir()} == {
        "indptr.npy", "indices.npy", "edge_type.npy"
    }  # fmt: skip


@pytest.mark.parametrize("wrong", [-1, 10])
def test_a_node_that_does_not_exist_is_named(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, wrong: int
) -> None:
    monkeypatch.setattr(relational_columns, "_CHUNK_EDGES", 3)
    good, bad = np.zeros(8, dtype=np.int64), np.array([0, 1, 2, 3, 4, 5, wrong, 7])
    edges = EdgeList(relation=0, source=end(good, 0, 10), target=end(bad, 0, 10))
    with pytest.raises(DataError, match=rf"edges\.npy: edge\[6\]: node {wrong} does not exist"):
        write_columns(tmp_path, [edges], 10)


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
