"""Sampled blocks of a graph with several relations: edges grouped by relation and target."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from trainables.graph.drawing import Draw, Ids
from trainables.graph.randomness import key_of
from trainables.graph.sampling import Relabelling


class RelationalBlock(NamedTuple):
    """Bipartite graph of a layer, with the relation of each edge.

    Edges are grouped into pairs of a relation and a target, which are ordered by relation,
    then by target: what a relation does for all its targets is one piece of every array.
    Pairs without an edge are not there.

    Attributes:
        indptr: Edges of pair ``p`` are ``indptr[p]`` to before ``indptr[p + 1]``.
            ``(num_pairs + 1,)``.
        sources: Position of each edge's source, ``(num_edges,)``.
        pairs: Pair of each edge, ascending, ``(num_edges,)``.
        targets: Position of each pair's target, ``(num_pairs,)``.
        relations: Relation of each pair, ascending, ``(num_pairs,)``.
        bounds: Pairs of relation ``r`` are ``bounds[r]`` to before ``bounds[r + 1]``; plain
            numbers, so that reading them waits for no device.
        num_targets: Number of targets; they are the first of the sources.
    """

    indptr: Tensor
    sources: Tensor
    pairs: Tensor
    targets: Tensor
    relations: Tensor
    bounds: tuple[int, ...]
    num_targets: int

    @classmethod
    def of(
        cls,
        targets: Ids,
        sources: NDArray[np.int32],
        relations: NDArray[np.integer],
        *,
        num_targets: int,
        num_relations: int,
    ) -> RelationalBlock:
        """Group edges.

        Args:
            targets: Position of each edge's target, ``(num_edges,)``.
            sources: Position of each edge's source.
            relations: Relation of each edge.
            num_targets: Number of targets.
            num_relations: Number of relations.
        """
        keys = relations.astype(np.int64) * num_targets + targets
        order = np.argsort(keys, kind="stable")
        keys = keys[order]
        is_first = np.diff(keys, prepend=-1) != 0
        firsts = np.flatnonzero(is_first)
        pair_relations, pair_targets = np.divmod(keys[firsts], max(num_targets, 1))
        return cls(
            indptr=torch.from_numpy(np.append(firsts, len(keys))),
            sources=torch.from_numpy(sources[order].astype(np.int64)),
            pairs=torch.from_numpy(np.cumsum(is_first) - 1),
            targets=torch.from_numpy(pair_targets),
            relations=torch.from_numpy(pair_relations),
            bounds=tuple(np.searchsorted(pair_relations, np.arange(num_relations + 1)).tolist()),
            num_targets=num_targets,
        )


class RelationalSample(NamedTuple):
    """The neighbourhood that the outputs of a batch depend on.

    Attributes:
        nodes: Ids of the first layer's sources, seeds first.
        blocks: From the input to the output layer.
    """

    nodes: Ids
    blocks: tuple[RelationalBlock, ...]


@dataclass(frozen=True, kw_only=True)
class RelationalSampler:
    """Sampler of neighbours of any relation alike.

    Attributes:
        draw: How neighbours are drawn.
        fanouts: Neighbours a node, from the input to the output layer.
        relabel: Gives nodes their positions.
        edge_type: Relation of every edge of the graph.
        num_relations: Number of relations.
    """

    draw: Draw
    fanouts: Sequence[int]
    relabel: Relabelling
    edge_type: NDArray[np.integer]
    num_relations: int

    def sample(self, seeds: Ids, *keys: int) -> RelationalSample:
        """Sample for one batch. See :meth:`NeighbourSampler.sample`."""
        nodes, blocks = seeds, list[RelationalBlock]()
        for layer in reversed(range(len(self.fanouts))):
            drawn = self.draw(nodes, self.fanouts[layer], key_of(*keys, layer))
            targets = np.repeat(np.arange(len(nodes)), np.diff(drawn.indptr))
            num_targets = len(nodes)
            nodes, sources = self.relabel(nodes, drawn.ids)
            block = RelationalBlock.of(
                targets,
                sources,
                self.edge_type[drawn.edges],
                num_targets=num_targets,
                num_relations=self.num_relations,
            )
            blocks.insert(0, block)
        return RelationalSample(nodes, tuple(blocks))
