"""Embeddings kept outside the graph: tables that rows are fetched from by node.

Cen et al., "Representation learning for attributed multiplex heterogeneous network" (GATNE),
2019, with one kind of edge and no attributes.
"""

from __future__ import annotations

from typing import Any, Literal, NamedTuple

import torch
from torch import Tensor, nn
from torch.nn import functional

from trainables.embedding.minibatch import PairBatch

EmbeddingKind = Literal["sparse", "dense"]
TablePlacement = Literal["cpu", "gpu"]


class FetchedRows(NamedTuple):
    """Rows that a batch takes from the tables.

    Attributes:
        own: Rows of the centres, ``(B, dims)``.
        heard: Mean over each centre's sampled neighbours, ``(B, dims)``.
        contexts: ``(B, 1 + negatives, dims)``.
    """

    own: Tensor
    heard: Tensor
    contexts: Tensor


class EmbeddingTables(nn.Module):
    """Three rows a node: its own, what its neighbours hear of it, and it as a context.

    Args:
        num_nodes: Rows of each table.
        dims: Width of a row.
        kind: ``sparse``: a gradient has the rows that a batch fetched. ``dense``: all.
    """

    def __init__(self, num_nodes: int, dims: int, kind: EmbeddingKind) -> None:
        super().__init__()
        sparse = kind == "sparse"
        self.own = nn.Embedding(num_nodes, dims, sparse=sparse)
        self.said = nn.EmbeddingBag(num_nodes, dims, mode="mean", sparse=sparse)
        self.contexts = nn.Embedding(num_nodes, dims, sparse=sparse)
        for table in (self.own, self.said):
            # Small: the first steps decide a row, not chance.
            nn.init.uniform_(table.weight, -0.1, 0.1)
        nn.init.normal_(self.contexts.weight, std=dims**-0.5)

    def forward(self, batch: PairBatch) -> FetchedRows:
        """The rows of a batch."""
        return FetchedRows(
            self.own(batch.centres), self.said(batch.heard), self.contexts(batch.contexts)
        )


class Aggregation(nn.Module):
    """``e_v = own_v + W mean(said_u, u -> v)``: all of the model that is no table."""

    def __init__(self, dims: int) -> None:
        super().__init__()
        self.heard = nn.Linear(dims, dims, bias=False)

    def embeddings(self, own: Tensor, heard: Tensor) -> Tensor:
        """Embeddings of length 1, ``(B, dims)``."""
        return functional.normalize(own + self.heard(heard))

    def forward(self, rows: FetchedRows) -> Tensor:
        """Score of each centre with each of its contexts, ``(B, 1 + negatives)``."""
        embeddings = self.embeddings(rows.own, rows.heard)
        scores: Tensor = torch.bmm(rows.contexts, embeddings.unsqueeze(2)).squeeze(2)
        return scores


def skip_gram_loss(scores: Tensor) -> Tensor:
    """Sum over pairs of the loss of one context that goes with its centre, and of negatives.

    Args:
        scores: ``(B, 1 + negatives)``, the one that goes with the centre first.
    """
    signs = torch.ones(scores.shape[1], device=scores.device)
    signs[1:] = -1
    return -functional.logsigmoid(scores.float() * signs).sum()


class TwoOptimizers:
    """One for the tables and one for the rest.

    ``torch.optim.SparseAdam`` updates only the rows of a gradient. Adam also continues to
    move the rows that were in an earlier batch, so the two do not learn the same. (They differ
    in the last digit even if every row is in every batch: epsilon enters elsewhere.)
    """

    def __init__(self, tables: EmbeddingTables, rest: nn.Module, lr: float) -> None:
        self.tables: torch.optim.Optimizer = (
            torch.optim.SparseAdam(tables.parameters(), lr=lr)
            if tables.own.sparse
            else torch.optim.Adam(tables.parameters(), lr=lr, fused=True)
        )
        self.rest = torch.optim.Adam(rest.parameters(), lr=lr, fused=True)

    def zero_grad(self) -> None:
        """Drop all gradients."""
        self.tables.zero_grad()
        self.rest.zero_grad()

    def state_dict(self) -> dict[str, Any]:
        """Return the content of a checkpoint."""
        return {"tables": self.tables.state_dict(), "rest": self.rest.state_dict()}

    def load_state_dict(self, state: dict[str, Any]) -> None:
        """The inverse of :meth:`state_dict`."""
        self.tables.load_state_dict(state["tables"])
        self.rest.load_state_dict(state["rest"])
