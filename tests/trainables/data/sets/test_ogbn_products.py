import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from orchestrator.data import DataFolders, find_data
from orchestrator.errors import DataError
from tests.trainables.data.conftest import assert_named, copied, edit, replaced, truncated
from trainables.data.formats.graph_store import GraphStore
from trainables.data.formats.ogb_loader import quiet_ogb
from trainables.data.sets.ogbn_products import OGBN_PRODUCTS

RAW, SPLIT = "raw", "split/sales_ranking"


def test_equals_what_ogbs_loader_loads(test_data: Path, tmp_path: Path) -> None:
    """The reference is OGB's loader on a copy, as its documentation uses it."""
    with quiet_ogb():
        from ogb.nodeproppred import DglNodePropPredDataset

    copied(test_data / "ogb" / "ogbn_products", tmp_path / "ogbn_products")
    loaded = DglNodePropPredDataset("ogbn-products", root=str(tmp_path))
    graph, labels = loaded[0]
    splits = loaded.get_idx_split()

    folders = DataFolders(root=test_data / "ogb", cache=tmp_path / "cache")
    data = OGBN_PRODUCTS.prepare(folders)
    store = GraphStore.open(data.path)

    assert data.name == store.name == "ogbn-products-like-7650-nodes"
    assert data.fingerprint == store.fingerprint
    assert data.facts == {
        "nodes": 7650, "edges": 238_162, "features": 745, "classes": 8,
        "train": 4591, "val": 1529, "test": 1530,
    }  # fmt: skip
    assert store.num_classes == 8
    assert np.array_equal(store.features, graph.ndata["feat"].numpy())
    assert store.features.flags.c_contiguous, "a node's features lie together"
    assert np.array_equal(store.labels, labels.numpy()[:, 0])
    for ours, theirs in (("train", "train"), ("val", "valid"), ("test", "test")):
        assert getattr(store, ours).tolist() == sorted(splits[theirs].tolist())
    assert edges_of(store.dgl_graph()) == edges_of(graph)


def edges_of(graph: Any) -> list[tuple[int, int]]:  # noqa: ANN401 - DGL has no types
    return sorted(zip(*(ends.tolist() for ends in graph.in_edges(graph.nodes())), strict=True))


def test_another_folder(ogb_products: Path, tmp_path: Path) -> None:
    elsewhere = DataFolders(root=tmp_path / "nothing", cache=tmp_path / "cache")
    assert not OGBN_PRODUCTS.present(elsewhere)
    own, above = OGBN_PRODUCTS.at(str(ogb_products)), OGBN_PRODUCTS.at(str(ogb_products.parent))
    assert own == above == find_data([OGBN_PRODUCTS], str(ogb_products))
    assert own.present(elsewhere)
    assert own.prepare(elsewhere).name == "ogbn-products-like-7650-nodes"


def test_absent(folders: DataFolders, no_network: None) -> None:
    assert not OGBN_PRODUCTS.present(folders)
    with pytest.raises(
        DataError, match=r"ogbn-products: there is no folder .*ogbn_products"
    ) as error:
        OGBN_PRODUCTS.prepare(folders)
    assert "--download" in error.value.hint


Break = Callable[[Path], object]


def in_file(name: str, change: Callable[[list[str]], list[str]]) -> Break:
    return lambda folder: edit(folder / name, change)


def half(name: str) -> Break:
    return lambda folder: truncated(folder / name)


FAULTS: dict[str, tuple[Break, str]] = {
    "truncated edges": (half(f"{RAW}/edge.csv.gz"), "raw/edge.csv.gz is truncated"),
    "a node that does not exist": (
        in_file(f"{RAW}/edge.csv.gz", replaced(7, "0,7650")),
        "raw/edge.csv.gz:7: node 7650 does not exist\n  allowed: 0 to 7649",
    ),
    "too few edges": (
        in_file(f"{RAW}/edge.csv.gz", lambda lines: lines[:-1]),
        "raw/edge.csv.gz has 119080 rows, ",
    ),
    "half a label": (
        in_file(f"{RAW}/node-label.csv.gz", replaced(9, "0.5")),
        "raw/node-label.csv.gz:9: '0.5' is not a class",
    ),
    "a split that overlaps": (
        lambda folder: shutil.copy(folder / SPLIT / "train.csv.gz", folder / SPLIT / "test.csv.gz"),
        "test.csv.gz:1: node 1 is also in 'train'",
    ),
    "an empty split": (in_file(f"{SPLIT}/train.csv.gz", lambda _: []), "train.csv.gz is empty"),
}


@pytest.mark.parametrize("fault", FAULTS)
def test_a_fault_is_named(ogb_products: Path, folders: DataFolders, fault: str) -> None:
    assert_named(FAULTS[fault], OGBN_PRODUCTS, ogb_products, folders)
