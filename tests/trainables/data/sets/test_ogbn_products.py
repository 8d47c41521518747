from __future__ import annotations

import gzip
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from orchestrator.data import DataFolders, find_data
from orchestrator.errors import DataError
from tests.trainables.data.conftest import assert_named, copied, edit, replaced, state, truncated
from trainables.data.formats.graph_store import GraphStore
from trainables.data.formats.ogb_loader import quiet_ogb
from trainables.data.sets.ogbn_products import OGBN_PRODUCTS

RAW, SPLIT = "raw", "split/sales_ranking"


def test_holds_what_ogbs_loader_gives(test_data: Path, tmp_path: Path) -> None:
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


def test_writes_nothing_beside_its_input_and_prints_nothing(
    ogb_products: Path, folders: DataFolders, capfd: pytest.CaptureFixture[str], no_network: None
) -> None:
    before = state(folders.root)
    OGBN_PRODUCTS.prepare(folders)
    assert state(folders.root) == before
    captured = capfd.readouterr()
    assert (captured.out, captured.err) == ("", "")


def test_asks_nothing_where_the_release_is_not_named(
    ogb_products: Path, folders: DataFolders, monkeypatch: pytest.MonkeyPatch
) -> None:
    (ogb_products / "RELEASE_v1.txt").unlink()
    shutil.rmtree(ogb_products / "processed")
    monkeypatch.setattr("builtins.input", lambda *_: pytest.fail("asked a question"))
    assert OGBN_PRODUCTS.prepare(folders).facts["nodes"] == 7650


def test_a_second_call_needs_no_library(ogb_products: Path, folders: DataFolders) -> None:
    """Trials call it in a process that has no time for imports."""
    first = OGBN_PRODUCTS.prepare(folders)
    code = f"""
import sys
from pathlib import Path
from orchestrator.data import DataFolders
from trainables.data.sets.ogbn_products import OGBN_PRODUCTS
from trainables.data.formats.graph_store import GraphStore
root, cache = Path({str(folders.root)!r}), Path({str(folders.cache)!r})
data = OGBN_PRODUCTS.prepare(DataFolders(root=root, cache=cache))
assert data.fingerprint == {first.fingerprint!r}
GraphStore.open(data.path)
print(sorted({{"torch", "dgl", "ogb", "pandas"}} & set(sys.modules)))
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout == "[]\n"


def test_the_fingerprint_is_of_the_content(ogb_products: Path, folders: DataFolders) -> None:
    first = OGBN_PRODUCTS.prepare(folders)
    labels = ogb_products / RAW / "node-label.csv.gz"
    edit(labels, lambda lines: lines)  # the same numbers, packed again
    again = OGBN_PRODUCTS.prepare(folders)
    assert again.fingerprint == first.fingerprint
    edit(labels, replaced(1, "46"))
    changed = OGBN_PRODUCTS.prepare(folders)
    assert changed.fingerprint != first.fingerprint
    assert GraphStore.open(changed.path).labels[0] == 8, "the ninth class that occurs"


def test_another_folder(ogb_products: Path, tmp_path: Path) -> None:
    elsewhere = DataFolders(root=tmp_path / "nothing", cache=tmp_path / "cache")
    assert not OGBN_PRODUCTS.present(elsewhere)
    own, above = OGBN_PRODUCTS.at(str(ogb_products)), OGBN_PRODUCTS.at(str(ogb_products.parent))
    assert own == above == find_data([OGBN_PRODUCTS], str(ogb_products))
    assert own.present(elsewhere)
    assert own.prepare(elsewhere).name == "ogbn-products-like-7650-nodes"


def test_another_folder_means_the_same_wherever_a_trial_runs(
    ogb_products: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(ogb_products.parent)
    assert OGBN_PRODUCTS.at("ogbn_products").folder == ogb_products


def test_absent(folders: DataFolders, no_network: None) -> None:
    assert not OGBN_PRODUCTS.present(folders)
    with pytest.raises(
        DataError, match=r"ogbn-products: there is no folder .*ogbn_products"
    ) as error:
        OGBN_PRODUCTS.prepare(folders)
    assert "--download" in error.value.hint


def test_a_folder_that_is_something_else(tmp_path: Path) -> None:
    (tmp_path / "ogbn_product").mkdir()
    with pytest.raises(DataError, match="did you mean 'ogbn_product'") as error:
        OGBN_PRODUCTS.at(str(tmp_path))
    assert error.value.hint == "found there: ogbn_product"
    with pytest.raises(
        DataError, match=r"there is no folder .*ogbn_prod; did you mean 'ogbn_product'"
    ):
        OGBN_PRODUCTS.at(str(tmp_path / "ogbn_prod"))


Break = Callable[[Path], object]


def in_file(name: str, change: Callable[[list[str]], list[str]]) -> Break:
    return lambda folder: edit(folder / name, change)


def with_label(line: int, label: str) -> Break:
    return in_file(f"{RAW}/node-label.csv.gz", replaced(line, label))


def without(name: str) -> Break:
    return lambda folder: (folder / name).unlink()


def half(name: str) -> Break:
    return lambda folder: truncated(folder / name)


def with_feature(line: int, value: str) -> Break:
    def change(lines: list[str]) -> list[str]:
        fields = lines[line - 1].split(",")
        return replaced(line, ",".join([value, *fields[1:]]))(lines)

    return in_file(f"{RAW}/node-feat.csv.gz", change)


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
    "no label in a split": (with_label(9, "-1"), "node 8 has no label"),
    "half a label": (with_label(9, "0.5"), "raw/node-label.csv.gz:9: '0.5' is not a class"),
    "a label too many": (
        in_file(f"{RAW}/node-label.csv.gz", lambda lines: [*lines, "1"]),
        "raw/node-label.csv.gz has 7651 rows, ",
    ),
    "NaN": (with_feature(5, "nan"), "raw/node-feat.csv.gz:5: 'nan' is not a finite number"),
    "a huge feature": (with_feature(5, "1e60"), "raw/node-feat.csv.gz:5: column 1 is inf"),
    "a feature row too many": (
        in_file(f"{RAW}/node-feat.csv.gz", lambda lines: [*lines, lines[0]]),
        "raw/node-feat.csv.gz has 7651 rows, ",
    ),
    "two graphs": (
        in_file(f"{RAW}/num-node-list.csv.gz", lambda lines: lines * 2),
        "raw/num-node-list.csv.gz: 2 rows of 1 numbers",
    ),
    "no features": (without(f"{RAW}/node-feat.csv.gz"), "raw/node-feat.csv.gz is missing"),
    "no validation split": (without(f"{SPLIT}/valid.csv.gz"), "valid.csv.gz is missing"),
    "a split that overlaps": (
        lambda folder: shutil.copy(folder / SPLIT / "train.csv.gz", folder / SPLIT / "test.csv.gz"),
        "test.csv.gz:1: node 1 is also in 'train'",
    ),
    "a split of nodes that do not exist": (
        in_file(f"{SPLIT}/valid.csv.gz", replaced(2, "7650")),
        "valid.csv.gz:2: node 7650 does not exist",
    ),
    "an empty split": (in_file(f"{SPLIT}/train.csv.gz", lambda _: []), "train.csv.gz is empty"),
}


@pytest.mark.parametrize("fault", FAULTS)
def test_a_fault_is_named(ogb_products: Path, folders: DataFolders, fault: str) -> None:
    assert_named(FAULTS[fault], OGBN_PRODUCTS, ogb_products, folders)


def test_a_mended_folder_is_read(ogb_products: Path, folders: DataFolders) -> None:
    labels = ogb_products / RAW / "node-label.csv.gz"
    good = labels.read_bytes()
    labels.write_bytes(gzip.compress(b"x\n"))
    with pytest.raises(DataError):
        OGBN_PRODUCTS.prepare(folders)
    labels.write_bytes(good)
    assert OGBN_PRODUCTS.prepare(folders).facts["nodes"] == 7650
