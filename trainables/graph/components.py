"""Connected components: the parts of a graph that no edge leads between."""

from __future__ import annotations

from typing import Literal

import numpy as np
from scipy.sparse import csr_array
from scipy.sparse.csgraph import connected_components

from orchestrator.errors import DataError
from trainables.data.formats.graph_store import GraphStore
from trainables.graph.drawing import Ids

GraphScope = Literal["all", "largest_component"]


def training_nodes(store: GraphStore, scope: GraphScope) -> Ids:
    """Ids of the nodes to train on: all training nodes, or those in the largest component.

    Raises:
        DataError: There are none.
    """
    nodes: Ids = store.train
    if scope == "largest_component":
        nodes = nodes[in_largest_component(store.indptr, store.indices)[nodes]]
    if not len(nodes):
        raise DataError(
            f"{store.name} has no training node with graph_scope={scope}",
            "set graph_scope=all" if scope == "largest_component" else "its split names none",
        )
    return nodes


def in_largest_component(indptr: Ids, indices: Ids) -> np.ndarray:
    """Return a mask of the nodes in the largest component of an undirected graph.

    Args:
        indptr: In-neighbours of node ``i`` are ``indices[indptr[i]:indptr[i + 1]]``.
        indices: Node ids, ``(num_edges,)``.

    Returns:
        A mask, ``(num_nodes,)``. Among equals the component with the lowest node id.
    """
    num_nodes = len(indptr) - 1
    values = np.ones(len(indices), dtype=np.int8)
    graph = csr_array((values, indices, indptr), shape=(num_nodes, num_nodes))
    # Each edge is stored both ways, so that directions can be followed as they are.
    _, component = connected_components(graph, directed=True, connection="weak")
    return np.asarray(component == np.bincount(component).argmax())
