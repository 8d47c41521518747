"""A user's graphs in OGB's layout: any split, any classes, directed, or only edges."""

import json
from pathlib import Path

import numpy as np
import pytest

from orchestrator import DataFolders
from orchestrator.data import find_data
from orchestrator.errors import DataError
from tests.trainables.data.conftest import pack
from tests.trainables.running import context, train_once
from trainables.data.formats.graph_store import GraphStore
from trainables.data.sets.ogbn_products import OGBN_PRODUCTS, OGBN_PRODUCTS_EDGES, OgbGraph
from trainables.graphsage import SageConfig, graphsage
from trainables.node_embedding import NodeEmbeddingConfig, node_embedding


@pytest.fixture
def shop(tmp_path: Path) -> Path:
    """Five nodes on a directed path; three classes, one node of none; a random split."""
    folder = tmp_path / "my_shop"
    pack(folder / "raw/num-node-list.csv.gz", "5")
    pack(folder / "raw/num-edge-list.csv.gz", "4")
    pack(folder / "raw/edge.csv.gz", "0,1", "1,2", "3,2", "3,4")
    pack(folder / "raw/node-feat.csv.gz", *(f"{node},0.5" for node in range(5)))
    pack(folder / "raw/node-label.csv.gz", "0", "2", "1", "nan", "2")
    for number, name in enumerate(("train", "valid", "test")):
        pack(folder / f"split/random/{name}.csv.gz", str(number))
    return folder


def store_of(data: OgbGraph, folders: DataFolders) -> GraphStore:
    return GraphStore.open(data.prepare(folders).path)


def edges_of(store: GraphStore) -> set[tuple[int, int]]:
    targets = np.repeat(np.arange(store.num_nodes), np.diff(store.indptr))
    return set(zip(store.indices.tolist(), targets.tolist(), strict=True))


def with_meta(folder: Path, **meta: object) -> None:
    (folder / "meta_dict.json").write_text(json.dumps(meta))


PATH = {(0, 1), (1, 2), (3, 2), (3, 4)}


def test_split_and_classes_are_found(shop: Path, folders: DataFolders) -> None:
    data = OGBN_PRODUCTS.at(str(shop)).prepare(folders)
    store = GraphStore.open(data.path)
    assert (data.name, store.num_classes) == ("my-shop", 3)
    assert [part.tolist() for part in (store.train, store.val, store.test)] == [[0], [1], [2]]
    assert store.labels.tolist() == [0, 2, 1, -1, 2]


def test_a_graph_without_any_label_has_no_classes(shop: Path, folders: DataFolders) -> None:
    pack(shop / "raw/node-label.csv.gz", *["nan"] * 5)
    with pytest.raises(DataError, match=r"node-label\.csv\.gz: 0 classes"):
        OGBN_PRODUCTS.at(str(shop)).prepare(folders)


def test_a_directed_graph_has_each_edge_in_both_directions_once(
    shop: Path, folders: DataFolders
) -> None:
    both = PATH | {(target, source) for source, target in PATH}
    store = store_of(OGBN_PRODUCTS.at(str(shop)), folders)
    assert (edges_of(store), store.num_edges) == (both, 8)
    pack(shop / "raw/edge.csv.gz", *(f"{source},{target}" for source, target in sorted(both)))
    pack(shop / "raw/num-edge-list.csv.gz", "8")
    assert store_of(OGBN_PRODUCTS.at(str(shop)), folders).num_edges == 8, "it had them already"


def test_a_description_sets_split_classes_and_directions(shop: Path, folders: DataFolders) -> None:
    (shop / "split/random").rename(shop / "split/time")
    (shop / "split/other").mkdir()
    pack(shop / "raw/edge.csv.gz", "0,1", "1,2", "3,2", "4,4")
    with_meta(shop, **{"split": "time", "num classes": 7, "add_inverse_edge": "True"})
    store = store_of(OGBN_PRODUCTS.at(str(shop)), folders)
    assert store.num_classes == 7
    assert store.num_edges == 8, "each row twice, as OGB's loader has it, a loop too"


def test_of_several_splits_one_is_named(shop: Path, folders: DataFolders) -> None:
    for number, name in enumerate(("train", "valid", "test")):
        pack(shop / f"split/time/{name}.csv.gz", str((4, 0, 1)[number]))
    with pytest.raises(DataError, match="has several splits: random, time") as refused:
        OGBN_PRODUCTS.at(str(shop)).name_in(folders)
    assert f"--data {shop}@random" in refused.value.hint
    timed = find_data([OGBN_PRODUCTS], f"{shop}@time")
    store = GraphStore.open(timed.prepare(folders).path)
    assert store.train.tolist() == [4]


@pytest.mark.parametrize(
    ("meta", "message"),
    [
        ({"is hetero": "True"}, "'is hetero' is 'True'"),
        ({"binary": "True"}, "'binary' is 'True'"),
        ({"task type": "regression"}, "this reads 'multiclass classification' or 'binary"),
        ({"num classes": 0}, "'num classes' is 0"),
        ({"split": 3}, "'split' is 3"),
    ],
)
def test_a_description_of_something_else_is_refused(
    shop: Path, folders: DataFolders, meta: dict[str, object], message: str
) -> None:
    with_meta(shop, **meta)
    with pytest.raises(DataError) as refused:
        OGBN_PRODUCTS.at(str(shop)).name_in(folders)
    assert message in str(refused.value)


def test_a_node_of_a_split_needs_a_label(shop: Path, folders: DataFolders) -> None:
    pack(shop / "split/random/train.csv.gz", "0", "3")
    with pytest.raises(DataError, match=r"train\.csv\.gz:2: node 3 has no label"):
        OGBN_PRODUCTS.at(str(shop)).prepare(folders)


@pytest.mark.parametrize("lacking", ["raw/node-feat.csv.gz", "raw/node-label.csv.gz", "split"])
def test_a_classifier_names_what_it_lacks_and_what_needs_none(
    shop: Path, folders: DataFolders, lacking: str
) -> None:
    (shop / lacking).rename(shop / "elsewhere")
    with pytest.raises(DataError, match=f"{lacking} is missing") as refused:
        OGBN_PRODUCTS.at(str(shop)).name_in(folders)
    assert "node_embedding needs edges alone" in refused.value.hint
    store = store_of(OGBN_PRODUCTS_EDGES.at(str(shop)), folders)
    assert (store.num_nodes, store.num_features, store.num_classes) == (5, 0, 0)
    assert store.labels.tolist() == [-1] * 5


def ring(folder: Path, num_nodes: int = 60) -> Path:
    """A ring with edges from each node to the next two; two classes, each a half of it."""
    edges = [f"{node},{(node + step) % num_nodes}" for node in range(num_nodes) for step in (1, 2)]
    pack(folder / "raw/num-node-list.csv.gz", str(num_nodes))
    pack(folder / "raw/num-edge-list.csv.gz", str(len(edges)))
    pack(folder / "raw/edge.csv.gz", *edges)
    return folder


def test_node_embedding_trains_on_edges_alone(tmp_path: Path) -> None:
    data = find_data(node_embedding.data, str(ring(tmp_path / "edges_alone")))
    config = NodeEmbeddingConfig(epoch_pairs=100, batch_size=50, dims=8, threads=1)
    reports = train_once(node_embedding, config, context(data, evaluate_test=True))
    assert reports.metric("val_auc")
    assert reports.metric("test_auc")


def test_graphsage_trains_on_a_directed_graph_of_two_classes(tmp_path: Path) -> None:
    folder = ring(tmp_path / "two_halves")
    half = [node // 30 for node in range(60)]
    pack(folder / "raw/node-feat.csv.gz", *(f"{side},{1 - side}" for side in half))
    pack(folder / "raw/node-label.csv.gz", *map(str, half))
    for number, name in enumerate(("train", "valid", "test")):
        pack(folder / f"split/any/{name}.csv.gz", *map(str, range(number, 60, 3)))
    data = find_data(graphsage.data, str(folder))
    config = SageConfig(batch_size=10, fanouts=(2, 2), hidden=8, lr=0.1, threads=1)
    reports = train_once(graphsage, config, context(data, epochs=3, evaluate_test=True))
    assert reports.metric("test_acc")[-1] > 0.8
    assert reports.metric("test_auc") == [1.0], "two outputs, so that there is an AUC"


def public(folder: Path, train: int) -> Path:
    """Headers of a graph with as many nodes and edges as ogbn-products."""
    pack(folder / "raw/num-node-list.csv.gz", "2449029")
    pack(folder / "raw/num-edge-list.csv.gz", "61859140")
    for name, row in (("edge", "0,1"), ("node-feat", "0,1"), ("node-label", "0")):
        pack(folder / f"raw/{name}.csv.gz", row)
    for name, count in (("train", train), ("valid", 39_323), ("test", 2_213_091)):
        pack(folder / f"split/sales_ranking/{name}.csv.gz", *["0"] * count)
    return folder


def test_ogbn_products_is_known_by_its_counts_wherever_it_is(
    tmp_path: Path, folders: DataFolders
) -> None:
    graph = OGBN_PRODUCTS.at(str(public(tmp_path / "shop", 196_615)))
    assert graph.name_in(folders) == "ogbn-products"
    assert graph._files(folders).meta.num_classes == 47
    other = OGBN_PRODUCTS.at(str(public(tmp_path / "ogbn_products", 196_614))).name_in(folders)
    assert other == "ogbn-products-like-2449029-nodes", "another split is another question"
