"""Small graphs to test with."""

import dgl
import numpy as np
import torch

from trainables.graph.adjacency import Adjacency, adjacency_with_gradient
from trainables.graph.drawing import Ids


def random_block(
    num_sources: int = 300, num_targets: int = 100, num_edges: int = 2000
) -> tuple[dgl.DGLGraph, Adjacency]:
    """A DGL block and the same as an adjacency; a fifth of the targets has no neighbour."""
    rng = np.random.default_rng(0)
    sources = rng.integers(0, num_sources, num_edges)
    targets = rng.integers(0, num_targets * 4 // 5, num_edges)
    block = dgl.create_block(
        (torch.from_numpy(sources), torch.from_numpy(targets)),
        num_src_nodes=num_sources,
        num_dst_nodes=num_targets,
    )
    indptr, indices, _ = block.adj_tensors("csc")
    return block, adjacency_with_gradient(indptr.int().numpy(), indices.int().numpy(), num_sources)


def symmetric_graph(num_nodes: int = 500, num_edges: int = 3000) -> tuple[Ids, Ids]:
    """An undirected graph in compressed columns; the last tenth of its nodes has no edge."""
    rng = np.random.default_rng(1)
    ends = rng.integers(0, num_nodes * 9 // 10, (2, num_edges))
    edges = np.unique(np.concatenate([ends, ends[::-1]], axis=1), axis=1)
    edges = edges[:, edges[0] != edges[1]]
    indptr = np.searchsorted(edges[0], np.arange(num_nodes + 1)).astype(np.int64)
    return indptr, edges[1].astype(np.int64)


def dgl_graph(indptr: Ids, indices: Ids) -> dgl.DGLGraph:
    """The same as a graph of DGL's."""
    no_ids = torch.empty(0, dtype=torch.int64)
    return dgl.graph(("csc", (torch.from_numpy(indptr), torch.from_numpy(indices), no_ids)))
