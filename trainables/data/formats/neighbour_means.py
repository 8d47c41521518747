"""Features of nodes that have none: the mean of their neighbours', in bounded memory."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from trainables.data.formats.arrays import Array, release
from trainables.data.formats.relational_columns import Columns

_CHUNK_NODES = 1 << 14
_CHUNK_EDGES = 1 << 15
_ROWS_AT_ONCE = 1 << 9
"""Each may bring up to 2 MiB around it into memory: kernels map the neighbouring pages too."""


@dataclass(frozen=True, kw_only=True, eq=False)
class Neighbours:
    """Edges of one relation into nodes without features, from nodes with them.

    Attributes:
        columns: Edges of the whole graph.
        relation: The relation to take.
        features: Features of the source nodes; may be mapped.
        offset: Number of the node that ``features`` begins with.
    """

    columns: Columns
    relation: int
    features: Array
    offset: int

    def means(self, first: int, last: int) -> Iterator[Array]:
        """Mean features of nodes ``first .. last - 1``, some rows at a time, float32.

        A node without such an edge has zeros. No more of the features is in memory than
        the sources of some ten thousand edges.
        """
        for start in range(first, last, _CHUNK_NODES):
            yield self._means(start, min(start + _CHUNK_NODES, last))
            release(self.columns.indices)
            release(self.columns.edge_type)

    def _means(self, first: int, last: int) -> Array:
        from scipy.sparse import csr_array

        bounds = np.asarray(self.columns.indptr[first : last + 1])
        num_nodes, width = last - first, self.features.shape[1]
        sums = np.zeros((num_nodes, width), dtype=np.float32)
        counts = np.zeros(num_nodes, dtype=np.int64)
        for start in range(int(bounds[0]), int(bounds[-1]), _CHUNK_EDGES):
            edges = np.arange(start, min(start + _CHUNK_EDGES, int(bounds[-1])))
            edges = edges[self.columns.edge_type[edges[0] : edges[-1] + 1] == self.relation]
            nodes = np.searchsorted(bounds, edges, side="right") - 1
            rows = self._rows(self.columns.indices[edges] - self.offset)
            places = (nodes, np.arange(len(edges)))
            ones = np.ones(len(edges), dtype=np.float32)
            sums += csr_array((ones, places), shape=(num_nodes, len(edges))) @ rows
            counts += np.bincount(nodes, minlength=num_nodes)
        sums /= np.maximum(counts, 1)[:, None]
        return sums

    def _rows(self, nodes: Array) -> Array:
        rows = np.empty((len(nodes), self.features.shape[1]), dtype=np.float32)
        for start in range(0, len(nodes), _ROWS_AT_ONCE):
            part = slice(start, start + _ROWS_AT_ONCE)
            rows[part] = self.features[nodes[part]]
            release(self.features)
        return rows
