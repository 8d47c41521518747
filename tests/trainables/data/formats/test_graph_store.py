"""Compressed columns of edge lists, and both directions of their edges."""

import json
import mmap
from collections import Counter
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from orchestrator.data import DataFolders
from orchestrator.errors import DataError
from tests.trainables.data.formats.csc_graphs import compressed
from trainables.data.formats.conversion import MANIFEST
from trainables.data.formats.csc import pack, undirected, unpack
from trainables.data.formats.graph_store import ARRAYS, GraphStore
from trainables.data.sets.products_synthetic import PRODUCTS_SYNTHETIC


@pytest.fixture
def store(folders: DataFolders) -> GraphStore:
    return GraphStore.open(folder_of(folders))


def folder_of(folders: DataFolders) -> Path:
    return PRODUCTS_SYNTHETIC.at("0.001").prepare(folders).path


def test_tensors_share_the_memory_of_the_map(store: GraphStore) -> None:
    tensors = store.tensors()
    for name in ARRAYS:
        array = getattr(store, name)
        assert getattr(tensors, name).data_ptr() == array.ctypes.data, name
        assert isinstance(array.base, mmap.mmap), name


def test_the_graph_shares_the_memory_of_the_map(store: GraphStore) -> None:
    graph = store.dgl_graph()
    indptr, indices, _ = graph.adj_tensors("csc")
    assert indptr.data_ptr() == store.indptr.ctypes.data
    assert indices.data_ptr() == store.indices.ctypes.data
    assert graph.formats()["created"] == ["csc"]
    assert graph.formats()["not created"] == []
    assert (graph.num_nodes(), graph.num_edges()) == (store.num_nodes, store.num_edges)


@pytest.mark.parametrize("text", ["", "{}", "[]", '{"format": 1}'])
def test_a_damaged_manifest(folders: DataFolders, text: str) -> None:
    folder = folder_of(folders)
    (folder / MANIFEST).write_text(text)
    with pytest.raises(DataError, match=r"manifest\.json is damaged"):
        GraphStore.open(folder)


def test_another_format(folders: DataFolders) -> None:
    path = folder_of(folders) / MANIFEST
    path.write_text(json.dumps({**json.loads(path.read_text()), "format": 99}))
    with pytest.raises(DataError, match="format 99, this program reads 1"):
        GraphStore.open(path.parent)


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
def test_columns_contain_the_edges_that_were_given(edges: list[Edge]) -> None:
    sources, targets = np.array(edges).T
    indptr, indices = compressed(sources, targets, NUM_NODES)
    found = zip(indices.tolist(), np.repeat(np.arange(NUM_NODES), np.diff(indptr)), strict=True)
    assert sorted(found) == sorted(edges)
    assert list(unpacked(packed(sorted(edges, key=lambda edge: edge[::-1])))) == sorted(
        edges, key=lambda edge: edge[::-1]
    )


@given(EDGES)
def test_an_undirected_graph_has_each_edge_both_ways_as_often(edges: list[Edge]) -> None:
    found = unpacked(undirected(packed(edges)))
    assert Counter(found) == Counter(back(found))
    assert set(found) == set(edges + back(edges))
