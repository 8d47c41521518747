from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from orchestrator import DataFolders
from orchestrator.errors import DataError
from tests.trainables.embedding.stores import random_edges, store_folder
from trainables.data.formats.graph_store import GraphStore
from trainables.data.sets.products_synthetic import PRODUCTS_SYNTHETIC
from trainables.embedding.link_split import LinkSplit


def as_set(edges: np.ndarray) -> set[tuple[int, int]]:
    return {(min(pair), max(pair)) for pair in edges.tolist()}


def edges_of(indptr: np.ndarray, indices: np.ndarray) -> np.ndarray:
    return np.stack([np.repeat(np.arange(len(indptr) - 1), np.diff(indptr)), indices], axis=1)


def test_edges_are_split_without_rest_or_overlap(tmp_path: Path) -> None:
    edges = random_edges(60, 400)
    split = LinkSplit.of(store_folder(tmp_path, edges, 60), "all")
    train = edges_of(split.indptr, split.indices)
    parts = [as_set(train), as_set(split.val.edges), as_set(split.test.edges)]
    assert [len(part) for part in parts] == [340, 20, 40]
    assert set.union(*parts) == as_set(edges)
    assert len(train) == 680  # both ways
    assert as_set(train) == as_set(train[:, ::-1])
    non_edges = [split.val.non_edges, split.test.non_edges]
    assert [len(as_set(pairs)) for pairs in non_edges] == [20, 40]
    assert not as_set(np.concatenate(non_edges)) & as_set(edges)
    assert as_set(non_edges[0]).isdisjoint(as_set(non_edges[1]))
    assert all(first != second for first, second in np.concatenate(non_edges).tolist())


def test_without_holding_out_validation_edges_stay_in_the_graph(tmp_path: Path) -> None:
    folder = store_folder(tmp_path, random_edges(60, 400), 60)
    apart, together = (LinkSplit.of(folder, "all", hold_out=held) for held in (True, False))
    graphs = [as_set(edges_of(split.indptr, split.indices)) for split in (apart, together)]
    assert graphs[1] == graphs[0] | as_set(apart.val.edges)
    assert len(together.val.edges) == len(together.val.non_edges) == 0
    assert np.array_equal(together.test.edges, apart.test.edges)


def test_non_edges_favour_no_node(tmp_path: Path) -> None:
    prepared = PRODUCTS_SYNTHETIC.at("0.002").prepare(DataFolders.default(Path("nowhere")))
    split = LinkSplit.of(prepared.path, "all")
    drawn = np.concatenate([split.val.non_edges, split.test.non_edges]).ravel()
    mean, error = (split.num_nodes - 1) / 2, split.num_nodes / np.sqrt(12 * len(drawn))
    assert abs(drawn.mean() - mean) < 4 * error


def test_the_split_is_found_again_and_belongs_to_the_data(tmp_path: Path) -> None:
    folder = store_folder(tmp_path, random_edges(60, 400), 60)
    made = LinkSplit.of(folder, "all")
    file = next((tmp_path / "data").glob("*link-split*/*/val_edges.npy"))
    written = file.stat().st_mtime_ns
    found = LinkSplit.of(folder, "all")
    assert file.stat().st_mtime_ns == written
    assert np.array_equal(found.val.edges, made.val.edges)


def test_loops_are_no_edges_to_predict(tmp_path: Path) -> None:
    edges = np.concatenate([random_edges(60, 400), [[7, 7]]])
    split = LinkSplit.of(store_folder(tmp_path, edges, 60), "all")
    everything = [edges_of(split.indptr, split.indices), split.val.edges, split.test.edges]
    assert all((pairs[:, 0] != pairs[:, 1]).all() for pairs in everything)


def test_the_largest_component_has_positions_of_its_own(tmp_path: Path) -> None:
    edges = np.concatenate([random_edges(20, 60), 30 + random_edges(50, 400)])
    folder = store_folder(tmp_path, edges, 90)
    split = LinkSplit.of(folder, "largest_component")
    assert split.nodes.tolist() == list(range(30, 80))
    pairs = [edges_of(split.indptr, split.indices), split.val.edges, split.test.edges]
    assert as_set(split.nodes[np.concatenate(pairs)]) == as_set(edges[60:])
    assert LinkSplit.of(folder, "all").num_nodes == 90


@pytest.mark.parametrize(
    ("edges", "num_nodes", "message"),
    [
        (np.empty((0, 2), dtype=np.int64), 40, "made with graph_scope=all has 0 edges between 40"),
        (np.array([[3, 3]]), 40, "has 0 edges"),
        (random_edges(40, 19), 40, "has 19 edges between 40 nodes: too few to hold some out"),
        (random_edges(20, 190), 20, "has 0 pairs of nodes without an edge"),
    ],
    ids=["no edges", "a loop", "few edges", "all edges"],
)
def test_a_graph_that_offers_nothing_to_predict_is_refused(
    edges: np.ndarray, num_nodes: int, message: str, tmp_path: Path
) -> None:
    folder = store_folder(tmp_path, edges, num_nodes)
    with pytest.raises(DataError, match=message):
        LinkSplit.of(folder, "all")
    assert not list((tmp_path / "data").glob("*link-split*/*/*.npy"))


def test_a_component_without_edges_is_refused(tmp_path: Path) -> None:
    folder = store_folder(tmp_path, np.empty((0, 2), dtype=np.int64), 40)
    with pytest.raises(DataError, match="graph_scope=largest_component has 0 edges between 1 node"):
        LinkSplit.of(folder, "largest_component")


def test_what_is_no_graph_store_is_refused(tmp_path: Path) -> None:
    folder = tmp_path / "data" / "key" / "signature"
    folder.mkdir(parents=True)
    with pytest.raises(DataError, match=r"has no manifest\.json"):
        LinkSplit.of(folder, "all")


def test_a_real_graph_s_edges_are_all_there(tmp_path: Path) -> None:
    prepared = PRODUCTS_SYNTHETIC.at("0.002").prepare(DataFolders.default(Path("nowhere")))
    store, split = GraphStore.open(prepared.path), LinkSplit.of(prepared.path, "all")
    held_out = len(split.val.edges) + len(split.test.edges)
    assert len(split.indices) + 2 * held_out == store.num_edges
