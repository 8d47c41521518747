"""Connected components: the parts of a graph that no edge leads between."""

from __future__ import annotations

import numpy as np
from scipy.sparse import csr_array
from scipy.sparse.csgraph import connected_components

from trainables.graph.drawing import Ids


def in_largest_component(indptr: Ids, indices: Ids) -> np.ndarray:
    """Which nodes of an undirected graph are in its largest component.

    Args:
        indptr: In-neighbours of node ``i`` are ``indices[indptr[i]:indptr[i + 1]]``.
        indices: Node ids, ``(num_edges,)``.

    Returns:
        A mask, ``(num_nodes,)``. Of components of one size, that of the lowest node id.
    """
    num_nodes = len(indptr) - 1
    values = np.ones(len(indices), dtype=np.int8)
    graph = csr_array((values, indices, indptr), shape=(num_nodes, num_nodes))
    # Each edge is stored both ways, so that directions can be followed as they are.
    _, component = connected_components(graph, directed=True, connection="weak")
    return np.asarray(component == np.bincount(component).argmax())
