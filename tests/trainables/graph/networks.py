"""A graph with features of its nodes, and networks on it."""

from __future__ import annotations

import torch

from tests.trainables.graph.graphs import symmetric_graph
from trainables.graph.adjacency import Adjacency
from trainables.graph.messages import Aggregator
from trainables.graphsage import GraphSage, SageConfig

INDPTR, INDICES = (torch.from_numpy(array) for array in symmetric_graph())
GRAPH = Adjacency.symmetric(INDPTR, INDICES)
X = torch.randn(500, 20, generator=torch.Generator().manual_seed(0))


def network(aggregator: Aggregator, layers: int) -> GraphSage:
    """Return a network on it, the same every time."""
    torch.manual_seed(0)
    config = SageConfig(mode="full", aggregator=aggregator, layers=layers, hidden=32)
    return GraphSage(config, 20, 6).eval()
