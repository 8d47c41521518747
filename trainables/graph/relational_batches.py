"""Mini-batches of relational neighbourhoods, features gathered outside the graph."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

import torch
from torch import Tensor

from trainables.data.formats.relational_store import RelationalStore
from trainables.graph.drawing import ALL, Ids, UniformDraw
from trainables.graph.places.mapped import MappedMemory
from trainables.graph.relational import RelationalBlock, RelationalSampler
from trainables.graph.sampling import relabelling
from trainables.loading import Draw

_INTEGERS_OF_EDGE = 6
"""Most 64-bit numbers that a block contains for an edge, and for its pair."""
_PADDING = 1024
"""Most bytes of alignment of the tensors of a layer."""


class RelationalBatch(NamedTuple):
    """A step's batch.

    Attributes:
        inputs: Features of the first layer's sources, ``(num_sources, features)``, in the
            type that they are stored in; their ids, ``(num_sources,)``, where the set has none or
            the step looks them up.
        blocks: From the input to the output layer.
        labels: ``(seeds,)``.
        places: Positions of the seeds among the nodes of an epoch, ``(seeds,)``.
        total: Seeds of the whole batch.
    """

    inputs: Tensor
    blocks: tuple[RelationalBlock, ...]
    labels: Tensor
    places: Tensor
    total: int

    def identity(self) -> tuple[tuple[RelationalBlock, ...], Tensor, Tensor]:
        """Return the part that is the same wherever the features are looked up."""
        return self.blocks, self.labels, self.places


@dataclass(frozen=True, kw_only=True)
class FetchRelational:
    """Maker of the mini-batch that a draw stands for.

    Attributes:
        sampler: Samples neighbourhoods.
        seeds: Ids of the nodes that a draw's indices stand for.
        labels: Class of every node, ``(num_nodes,)``.
        features: ``(num_nodes, features)``, or None where the batch is to name its sources.
        keys: Keys of the sampling in addition to the node, such as the trial's seed.
        each_step: Whether every step of every epoch samples anew.
        memory: Mapped files to release once the batch is made.
    """

    sampler: RelationalSampler
    seeds: Ids
    labels: Tensor
    features: Tensor | None
    keys: tuple[int, ...]
    each_step: bool
    memory: MappedMemory

    def __call__(self, draw: Draw) -> RelationalBatch:
        """The mini-batch of ``draw``."""
        batch = self._batch(draw)
        self.memory.keep_within_limit()
        return batch

    def _batch(self, draw: Draw) -> RelationalBatch:
        seeds = self.seeds[draw.indices]
        keys = (*self.keys, draw.epoch, draw.step) if self.each_step else self.keys
        sample = self.sampler.sample(seeds, *keys)
        nodes = torch.from_numpy(sample.nodes)
        return RelationalBatch(
            inputs=nodes if self.features is None else self.features.index_select(0, nodes),
            blocks=sample.blocks,
            labels=self.labels[torch.from_numpy(seeds)],
            places=torch.from_numpy(draw.indices),
            total=draw.total,
        )


def neighbourhoods(
    store: RelationalStore,
    nodes: Ids,
    *,
    fanouts: Sequence[int],
    keys: tuple[int, ...],
    each_step: bool,
    mapped_bytes: float,
    features: Tensor | None,
) -> FetchRelational:
    """Batches of ``nodes`` with sampled neighbourhoods from a stored graph.

    Args:
        store: The graph.
        nodes: Ids of the nodes that a draw's indices stand for.
        fanouts: Neighbours a node, from the input to the output layer.
        keys: See :class:`FetchRelational`, as for ``each_step`` and ``features``.
        each_step: Whether every step of every epoch samples anew.
        mapped_bytes: How much of mapped files may be in this process's memory.
        features: The table that rows are taken from.
    """
    mapped = [store.indices, store.edge_type]
    sampler = RelationalSampler(
        draw=UniformDraw(store.indptr, store.indices, replace=False),
        fanouts=fanouts,
        relabel=relabelling(store.num_nodes),
        edge_type=store.edge_type,
        num_relations=store.num_relations,
    )
    return FetchRelational(
        sampler=sampler,
        seeds=nodes,
        labels=store.tensors().labels,
        features=features,
        keys=keys,
        each_step=each_step,
        memory=MappedMemory(
            mapped if store.features is None else [*mapped, store.features], mapped_bytes
        ),
    )


def most_relational_bytes(num_seeds: int, fanouts: Sequence[int], store: RelationalStore) -> int:
    """Bytes that a batch of ``num_seeds`` seed nodes takes at most."""
    row_bytes = store.num_features * store.features.itemsize if store.features is not None else 8
    nodes = min(num_seeds, store.num_nodes)
    num_edges = 0
    for fanout in reversed(fanouts):
        heard = store.num_edges if fanout == ALL else min(nodes * fanout, store.num_edges)
        num_edges += heard
        nodes = min(nodes + heard, store.num_nodes)
    integers = _INTEGERS_OF_EDGE * num_edges + 2 * num_seeds
    return nodes * row_bytes + 8 * integers + _PADDING * len(fanouts)
