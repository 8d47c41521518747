"""AUC with which embeddings separate pairs of nodes with an edge from pairs without."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import torch
from torch import Tensor

from trainables.classification import auc
from trainables.data.formats.arrays import Array
from trainables.embedding.link_split import HeldOut, LinkSplit
from trainables.embedding.minibatch import NOISE_POWER
from trainables.embedding.tables import Aggregation, EmbeddingTables

_NODES_A_CHUNK = 1 << 14
_DEGREE_OF_NONE = 0.5
"""Degree that a node without an edge in training counts with: its logarithm is finite."""


@dataclass(frozen=True, kw_only=True, eq=False)
class LinkPrediction:
    """Embeddings of nodes from all of their neighbours, and what they predict.

    Attributes:
        tables: The tables; they are read in their place.
        aggregation: On the device that computes.
        split: The graph, and its held-out edges.
    """

    tables: EmbeddingTables
    aggregation: Aggregation
    split: LinkSplit

    @torch.no_grad()
    def auc(self, held_out: HeldOut) -> float:
        """AUC of :meth:`scores`."""
        pairs = np.concatenate([held_out.edges, held_out.non_edges])
        scores = self.scores(pairs).cpu().numpy()
        return auc(scores[: len(held_out.edges)], scores[len(held_out.edges) :])

    @torch.no_grad()
    def scores(self, pairs: Array) -> Tensor:
        """Log-odds of a pair on a walk against a pair of nodes drawn uniformly, but for a constant.

        Skip-gram learns ``log P(u | v) - log Q(u)`` as its score of centre ``v`` and context
        ``u``, where the noise ``Q`` is degree to a power (Levy and Goldberg, "Neural word
        embedding as implicit matrix factorization", 2014). A walk comes by ``v`` in proportion
        to its degree. So log degrees are added; both ways round are averaged.

        Args:
            pairs: ``(n, 2)``.

        Returns:
            ``(n,)``.
        """
        nodes, places = np.unique(pairs, return_inverse=True)
        embeddings = self.embeddings(nodes)
        where = self.tables.contexts.weight.device
        contexts = self.tables.contexts(torch.from_numpy(nodes).to(where)).to(embeddings.device)
        degrees = (self.split.indptr[nodes + 1] - self.split.indptr[nodes]).astype(np.float32)
        popularity = torch.from_numpy(np.log(degrees.clip(min=_DEGREE_OF_NONE)))
        popularity = popularity.to(embeddings.device) * (1 + NOISE_POWER)
        ends = torch.from_numpy(places.reshape(pairs.shape)).to(embeddings.device)
        u, v = ends.unbind(1)
        learned = (contexts[u] * embeddings[v] + contexts[v] * embeddings[u]).sum(1)
        scores: Tensor = (learned + popularity[u] + popularity[v]) / 2
        return scores

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
