from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from orchestrator.errors import DataError
from tests.trainables.data.formats.edge_lists import drawn, end, naive
from trainables.data.formats import relational_columns
from trainables.data.formats.relational_columns import (
    Columns,
    EdgeList,
    KeyBits,
    write_columns,
)


def edges_in(columns: Columns) -> list[tuple[int, int, int]]:
    targets = np.repeat(np.arange(len(columns.indptr) - 1), np.diff(columns.indptr))
    parts = (targets, columns.edge_type, columns.indices)
    return list(zip(*(part.tolist() for part in parts), strict=True))


@pytest.mark.parametrize("bucket_edges", [10**9, 4000, 100])
@pytest.mark.parametrize("chunk_edges", [1 << 22, 700])
def test_equals_a_naive_way_however_little_is_held(
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


def test_large_node_numbers_fit() -> None:
    """Node numbers as large as MAG240M's."""
    last = 244_160_498
    bits = KeyBits.of(last + 1, 5)
    one = np.array([last])
    edges = EdgeList(relation=4, source=end(one - 1, 0, last + 1), target=end(one, 0, last + 1))
    keys = bits.pack(edges, 0, 1)
    assert bits.targets(keys).tolist() == [last]
    assert bits.relations(keys).tolist() == [4]
    assert bits.sources(keys).tolist() == [last - 1]
    assert bits.first_key(one) <= keys < bits.first_key(one + 1)


@pytest.mark.parametrize(("relation", "dtype"), [(255, np.uint8), (256, np.int16)])
def test_edge_types_take_little_room(tmp_path: Path, relation: int, dtype: type) -> None:
    one = end(np.array([0]), 0, 1)
    write_columns(tmp_path, [EdgeList(relation=relation, source=one, target=one)], 1)
    columns = Columns.open(tmp_path)
    assert columns.edge_type.dtype == dtype
    assert columns.edge_type.tolist() == [relation]


@pytest.mark.parametrize("wrong", [-1, 10])
def test_a_node_that_does_not_exist_is_named(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, wrong: int
) -> None:
    monkeypatch.setattr(relational_columns, "_CHUNK_EDGES", 3)
    good, bad = np.zeros(8, dtype=np.int64), np.array([0, 1, 2, 3, 4, 5, wrong, 7])
    edges = EdgeList(relation=0, source=end(good, 0, 10), target=end(bad, 0, 10))
    with pytest.raises(DataError, match=rf"edges\.npy: edge\[6\]: node {wrong} does not exist"):
        write_columns(tmp_path, [edges], 10)
