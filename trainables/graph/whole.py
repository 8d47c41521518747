"""The whole graph as one batch an epoch."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import torch
from torch import Tensor

from trainables.data.formats.graph_store import GraphStore
from trainables.graph.adjacency import Adjacency
from trainables.graph.drawing import Ids
from trainables.graph.minibatch import Minibatch, Rows


@dataclass(frozen=True)
class WholeGraph:
    """One step an epoch, over every edge; the batch stays where it is.

    Attributes:
        features: Features of all nodes, ``(num_nodes, features)``.
        batch: All features, all edges, and the training nodes as seeds.
    """

    features: Tensor
    batch: Minibatch

    @classmethod
    def of(
        cls, store: GraphStore, seeds: Ids, *, num_layers: int, device: torch.device
    ) -> WholeGraph:
        """A stored graph on ``device``: on the CPU in the store's own memory.

        The graph is undirected, so the backward pass follows the same arrays.
        """
        graph = store.tensors()
        features = graph.features.to(device)
        adjacency = Adjacency.symmetric(graph.indptr, graph.indices).to(device)
        chosen = torch.from_numpy(seeds)
        batch = Minibatch(
            inputs=Rows(features, adjacency),
            blocks=(adjacency,) * (num_layers - 1),
            labels=graph.labels[chosen].to(device),
            total=len(seeds),
            seeds=chosen.to(device),
        )
        return cls(features, batch)

    def __len__(self) -> int:
        """Steps of an epoch."""
        return 1

    def epoch(self, index: int) -> Iterator[tuple[Minibatch]]:
        """The batch, in one part."""
        yield (self.batch,)
