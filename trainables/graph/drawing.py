"""Drawing some neighbours of each node: uniformly, or by LABOR.

A draw takes node ids and gives, for each, ids of neighbours. The same key gives the same
draw, whatever the number of threads, workers or ranks. DGL's own uniform sampler repeats
with one thread only, and takes about four times as long on one core.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Protocol

import numpy as np
import torch
from numpy.typing import NDArray

from trainables.graph.randomness import below, random_bits

if TYPE_CHECKING:
    import dgl

ALL = -1
"""The fan-out that takes every neighbour."""

Ids = NDArray[np.int64]


@dataclass(frozen=True)
class Drawn:
    """Neighbours drawn for some targets.

    Attributes:
        indptr: Those of target ``i`` are ``ids[indptr[i]:indptr[i + 1]]``.
        ids: Node ids, ``(num_edges,)``.
        edges: Positions in the graph's list of edges, ``(num_edges,)``.
    """

    indptr: Ids
    ids: Ids
    edges: Ids


class Draw(Protocol):
    """A way of drawing neighbours."""

    def __call__(self, nodes: Ids, fanout: int, key: int) -> Drawn:
        """At most ``fanout`` neighbours of each of ``nodes``; all of them for ``ALL``."""


@dataclass(frozen=True)
class UniformDraw:
    """Every neighbour as likely as the others.

    Attributes:
        indptr: In-neighbours of node ``i`` are ``indices[indptr[i]:indptr[i + 1]]``.
        indices: Node ids, ``(num_edges,)``. May be memory-mapped: only what is drawn is read.
        replace: Whether a neighbour may be drawn more than once. A node then gets the whole
            fan-out, however few neighbours it has.
    """

    indptr: Ids
    indices: Ids
    replace: bool

    def __call__(self, nodes: Ids, fanout: int, key: int) -> Drawn:
        """At most ``fanout`` neighbours of each of ``nodes``; all of them for ``ALL``."""
        begin = self.indptr[nodes]
        degree = self.indptr[nodes + 1] - begin
        if fanout == ALL:
            positions, counts = begin, degree
            return self._drawn(_ranges(positions, counts), counts)
        if not self.replace:
            counts = np.minimum(degree, fanout)
            return self._drawn(_without_replacement(nodes, begin, degree, fanout, key), counts)
        counts = np.where(degree > 0, fanout, 0)
        some = degree > 0
        if not some.all():
            nodes, begin, degree = nodes[some], begin[some], degree[some]
        offsets = below(random_bits(nodes, fanout, key), degree.astype(np.uint64)[:, None])
        return self._drawn((offsets.view(np.int64) + begin[:, None]).ravel(), counts)

    def _drawn(self, positions: Ids, counts: Ids) -> Drawn:
        # Clipping skips a second pass over the positions; all of them are in range.
        return Drawn(_starts(counts), self.indices.take(positions, mode="clip"), positions)


@dataclass(frozen=True)
class LaborDraw:
    """LABOR-0: nodes share their random numbers, so that fewer distinct ones are drawn.

    A node hears from ``fanout`` of its neighbours on average, each as likely as the others.
    Balin and Catalyurek, "Layer-Neighbor Sampling", NeurIPS 2023; DGL's own kernel, with a
    draw that depends on its seed alone.

    Attributes:
        graph: The same graph as DGL's, in its csc format only.
    """

    graph: dgl.DGLGraph

    def __call__(self, nodes: Ids, fanout: int, key: int) -> Drawn:
        """About ``fanout`` neighbours of each of ``nodes``; all of them for ``ALL``."""
        import dgl

        seed = dgl.backend.zerocopy_to_dgl_ndarray(torch.tensor([key >> 1], dtype=torch.int64))
        drawn, _ = dgl.sampling.sample_labors(
            self.graph, torch.from_numpy(nodes), fanout, random_seed=seed
        )
        sources, heard_by = (ids.numpy() for ids in drawn.edges())
        # DGL answers node by node in the order asked, leaving out those for which none came.
        begins = np.flatnonzero(np.diff(heard_by, prepend=-1))
        counts = np.zeros(len(nodes), dtype=np.int64)
        counts[np.isin(nodes, heard_by[begins])] = np.diff(begins, append=len(heard_by))
        return Drawn(_starts(counts), sources, drawn.edata[dgl.EID].numpy())


def _starts(counts: Ids) -> Ids:
    indptr = np.zeros(len(counts) + 1, dtype=np.int64)
    np.cumsum(counts, out=indptr[1:])
    return indptr


def _ranges(begin: Ids, counts: Ids) -> Ids:
    """``begin[i], begin[i] + 1, ...``, ``counts[i]`` of them, for one ``i`` after the other."""
    indptr = _starts(counts)
    return np.arange(indptr[-1]) + np.repeat(begin - indptr[:-1], counts)


def _without_replacement(nodes: Ids, begin: Ids, degree: Ids, fanout: int, key: int) -> Ids:
    """Positions of ``min(degree, fanout)`` distinct neighbours of each node."""
    counts = np.minimum(degree, fanout)
    positions = _ranges(begin, counts)
    many = np.flatnonzero(degree > fanout)
    chosen = _floyd(random_bits(nodes[many], fanout, key), degree[many])
    places = _starts(counts)[many][:, None] + np.arange(fanout)
    positions[places] = chosen.T + begin[many][:, None]
    return positions


def _floyd(bits: NDArray[np.uint64], limit: Ids) -> Ids:
    """Distinct whole numbers below each limit, as many as each row has random bits.

    Floyd's algorithm, all rows at once: the i-th of k numbers is drawn from the first
    ``limit - k + i + 1`` ones and, where it is among those before it, replaced by the last
    of these. Bentley and Floyd, "A sample of brilliance", CACM 30(9), 1987.
    """
    count = bits.shape[1]
    columns = np.ascontiguousarray(bits.T)
    chosen = np.empty((count, len(limit)), dtype=np.int64)
    for i in range(count):
        last = limit - (count - i)
        value = below(columns[i], (last + 1).astype(np.uint64)).view(np.int64)
        taken = np.zeros(len(limit), dtype=bool)
        for earlier in chosen[:i]:
            taken |= earlier == value
        chosen[i] = np.where(taken, last, value)
    return chosen
