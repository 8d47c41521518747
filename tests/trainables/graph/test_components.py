from __future__ import annotations

import numpy as np

from tests.trainables.graph.graphs import symmetric_graph
from trainables.graph.components import in_largest_component


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
