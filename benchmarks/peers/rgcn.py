"""A plain R-GCN on the whole graph, as DGL's example for entity classification has it.

Learnable vectors for all nodes, two layers of ``RelGraphConv`` with a basis, messages divided by
the number of a target's edges of the relation, Adam on all training nodes in every step.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import dgl
import dgl.nn
import torch
from torch import Tensor, nn
from torch.nn import functional

if TYPE_CHECKING:
    from trainables.data.formats.relational_store import RelationalStore

EVAL_EVERY = 5
"""Epochs."""


@dataclass(frozen=True, kw_only=True)
class RgcnSettings:
    """Settings of a run; those of the example for AIFB are the defaults."""

    hidden: int = 16
    num_bases: int = 30
    dropout: float = 0.0
    lr: float = 0.01
    weight_decay: float = 5e-4
    epochs: int = 50


class Rgcn(nn.Module):
    """Two layers over learnable vectors."""

    def __init__(self, settings: RgcnSettings, store: RelationalStore) -> None:
        super().__init__()
        hidden, relations = settings.hidden, store.num_relations
        self.vectors = nn.Parameter(torch.empty(store.num_nodes, hidden))
        nn.init.xavier_uniform_(self.vectors, nn.init.calculate_gain("relu"))
        bases = min(settings.num_bases, relations)
        convs = [
            dgl.nn.RelGraphConv(hidden, out, relations, "basis", bases, self_loop=True)
            for out in (hidden, store.num_classes)
        ]
        self.first, self.second = convs
        self.dropout = settings.dropout

    def forward(self, graph: Any, edge_type: Tensor, norm: Tensor) -> Tensor:  # noqa: ANN401
        """Scores of all nodes, ``(num_nodes, classes)``."""
        h = functional.relu(self.first(graph, self.vectors, edge_type, norm))
        h = functional.dropout(h, self.dropout, self.training)
        scores: Tensor = self.second(graph, h, edge_type, norm)
        return scores


def accuracies_of_best(
    settings: RgcnSettings, store: RelationalStore, seed: int
) -> tuple[float, float]:
    """Train; return validation and test accuracy of the model of the best validation accuracy."""
    torch.manual_seed(seed)
    tensors = store.tensors()
    targets = torch.arange(store.num_nodes).repeat_interleave(tensors.indptr.diff())
    graph = dgl.graph((tensors.indices.long(), targets), num_nodes=store.num_nodes)
    edge_type = tensors.edge_type.long()
    pairs = edge_type * store.num_nodes + targets
    norm = 1 / torch.bincount(pairs)[pairs].unsqueeze(1)
    network = Rgcn(settings, store)
    optimizer = torch.optim.Adam(
        network.parameters(), settings.lr, weight_decay=settings.weight_decay
    )
    best = (-1.0, 0.0)
    for epoch in range(settings.epochs):
        scores = network.train()(graph, edge_type, norm)
        loss = functional.cross_entropy(scores[tensors.train], tensors.labels[tensors.train])
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        if (epoch + 1) % EVAL_EVERY:
            continue
        with torch.no_grad():
            right = network.eval()(graph, edge_type, norm).argmax(1) == tensors.labels
        val, test = (float(right[nodes].double().mean()) for nodes in (tensors.val, tensors.test))
        best = max(best, (val, test), key=lambda both: both[0])
    return best
