"""AUC with which embeddings tell pairs of nodes with an edge from pairs without."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import torch
from torch import Tensor

from trainables.classification import auc
from trainables.data.formats.arrays import Array
from trainables.embedding.link_split import HeldOut, LinkSplit
from trainables.embedding.tables import Aggregation, EmbeddingTables

_NODES_A_CHUNK = 1 << 14


@dataclass(frozen=True, kw_only=True, eq=False)
class LinkPrediction:
    """Embeddings of nodes from all of their neighbours, and what they predict.

    Attributes:
        tables: Where they are, they are read.
        aggregation: On the device that computes.
        split: The graph, and what was held out of it.
    """

    tables: EmbeddingTables
    aggregation: Aggregation
    split: LinkSplit

    @torch.no_grad()
    def auc(self, held_out: HeldOut) -> float:
        """AUC of the cosine between the embeddings of a pair."""
        pairs = np.concatenate([held_out.edges, held_out.non_edges])
        nodes, places = np.unique(pairs, return_inverse=True)
        embeddings = self.embeddings(nodes)
        ends = torch.from_numpy(places.reshape(pairs.shape)).to(embeddings.device)
        scores = (embeddings[ends[:, 0]] * embeddings[ends[:, 1]]).sum(1).cpu().numpy()
        return auc(scores[: len(held_out.edges)], scores[len(held_out.edges) :])

    @torch.no_grad()
    def embeddings(self, nodes: Array) -> Tensor:
        """Embeddings of ``nodes``, ``(n, dims)``."""
        chunks = range(0, len(nodes), _NODES_A_CHUNK)
        return torch.cat([self._chunk(nodes[i : i + _NODES_A_CHUNK]) for i in chunks])

    def _chunk(self, nodes: Array) -> Tensor:
        where = self.tables.own.weight.device
        begin, end = self.split.indptr[nodes], self.split.indptr[nodes + 1]
        heard = np.concatenate([self.split.indices[b:e] for b, e in zip(begin, end, strict=True)])
        offsets = np.concatenate([[0], np.cumsum(end - begin)[:-1]])
        own = self.tables.own(torch.from_numpy(nodes).to(where))
        said = self.tables.said(
            torch.from_numpy(heard).to(where), torch.from_numpy(offsets).to(where)
        )
        there = self.aggregation.heard.weight.device
        return self.aggregation.embeddings(own.to(there), said.to(there))
