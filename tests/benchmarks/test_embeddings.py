"""The benchmark of RGAT on graphs without features, on graphs of a fraction of the size."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from benchmarks.trainables.embeddings import (
    XAVIER,
    by_validation,
    majority,
    rgat_accuracy,
    rgcn_accuracy,
    vote,
)
from benchmarks.trainables.relational_graphs import RelationalGraph, citations, molecules
from orchestrator.data import DataFolders, PreparedData
from trainables.data.formats.relational_store import RelationalStore
from trainables.data.sets.ogb_hetero import OgbHetero


def prepared(graph: RelationalGraph, folder: Path) -> PreparedData:
    graph.write(folder / "graph")
    folders = DataFolders(root=folder, cache=folder / "cache")
    return OgbHetero.in_folder(folder / "graph").prepare(folders)


@pytest.fixture(scope="module")
def small(tmp_path_factory: pytest.TempPathFactory) -> PreparedData:
    return prepared(citations(num_items=600), tmp_path_factory.mktemp("citations"))


@pytest.mark.parametrize("graph", [citations(num_items=300), molecules(num_items=300)])
def test_a_generated_graph_is_read_as_it_was_made(graph: RelationalGraph, tmp_path: Path) -> None:
    data = prepared(graph, tmp_path)
    store = RelationalStore.open(data.path)
    assert store.features is None
    items = store.schema.node_type("item")
    for name, ours in (("train", "train"), ("valid", "val"), ("test", "test")):
        nodes = getattr(store, ours)
        assert np.array_equal(nodes - items.offset, graph.splits[name])
        assert np.array_equal(store.labels[nodes], graph.labels[graph.splits[name]])
    distinct = sum(np.unique(ends, axis=1).shape[1] for ends in graph.edges.values())
    assert store.num_edges == 2 * distinct  # each in both directions


def test_small_first_vectors_learn_more_than_normal_ones(small: PreparedData) -> None:
    """The default's advantage is some ten points, a vote's over the commonest class forty."""
    store = RelationalStore.open(small.path)
    found = {
        init: sum(rgat_accuracy(embedding_init=init)(store, small, seed)[1] for seed in range(2))
        for init in ("xavier", "normal")
    }
    assert found["xavier"] / 2 > found["normal"] / 2 + 0.05
    assert vote(store)[1] > majority(store)[1] + 0.2


def test_the_plain_r_gcn_learns(small: PreparedData) -> None:
    store = RelationalStore.open(small.path)
    assert rgcn_accuracy()(store, small, 0)[1] > majority(store)[1] + 0.1


def test_weight_decay_is_chosen_by_validation_and_not_by_the_test_split() -> None:
    found = {
        XAVIER: [(0.7, 0.9), (0.8, 0.9)],
        f"{XAVIER}, weight decay 5e-4": [(0.8, 0.6), (0.9, 0.6)],
        "majority's share": [(1.0, 1.0)],
    }
    assert by_validation(found, XAVIER) == f"{XAVIER}, weight decay 5e-4"
