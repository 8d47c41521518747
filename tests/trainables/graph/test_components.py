from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from orchestrator.errors import DataError
from tests.trainables.embedding.stores import store_folder
from tests.trainables.graph.graphs import symmetric_graph
from trainables.data.formats.graph_store import GraphStore
from trainables.graph.components import in_largest_component, training_nodes


def test_the_largest_component_is_found() -> None:
    # 0-1, 2-3-4, 5 alone
    indptr = np.array([0, 1, 2, 3, 5, 6, 6])
    indices = np.array([1, 0, 3, 2, 4, 3])
    assert in_largest_component(indptr, indices).tolist() == [False] * 2 + [True] * 3 + [False]


def test_nodes_without_edges_are_outside() -> None:
    indptr, indices = symmetric_graph()
    inside = in_largest_component(indptr, indices)
    assert inside[:450].mean() > 0.95
    assert not inside[450:].any()


def test_a_component_without_training_nodes_is_refused(tmp_path: Path) -> None:
    folder = store_folder(tmp_path, np.array([[0, 1], [2, 3], [3, 4]]), 6)
    store = replace(GraphStore.open(folder), train=np.array([0, 3]))
    assert training_nodes(store, "all").tolist() == [0, 3]
    assert training_nodes(store, "largest_component").tolist() == [3]
    elsewhere = replace(store, train=np.array([0, 5]))
    with pytest.raises(
        DataError, match="made has no training node with graph_scope=largest_"
    ) as no:
        training_nodes(elsewhere, "largest_component")
    assert no.value.hint == "set graph_scope=all"
    with pytest.raises(DataError, match="made has no training node with graph_scope=all"):
        training_nodes(replace(store, train=store.val), "all")
