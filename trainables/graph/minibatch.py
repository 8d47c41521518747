"""Mini-batches of sampled neighbourhoods, made where the features are.

The sums over the first layer's inputs depend on no weight. If the features are in host
memory, loading a batch takes the sums straight from the table: no row is copied
once for every batch that it is needed in, and a batch is several times smaller. If the
features are on the device, a batch carries node ids and the step takes the sums.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
import torch
from torch import Tensor

from trainables.graph.adjacency import Adjacency
from trainables.graph.drawing import ALL, Ids
from trainables.graph.messages import Aggregator, aggregate
from trainables.graph.places.features import FeatureTable
from trainables.graph.sampling import NeighbourSampler, Sample
from trainables.loading import Draw


class Summed(NamedTuple):
    """Inputs of the first layer, its sums taken.

    Attributes:
        own: Features of each target, ``(num_targets, features)``; None where they are part
            of ``heard`` and nothing else needs them.
        heard: Aggregate of the messages to each target, ``(num_targets, features)``.
    """

    own: Tensor | None
    heard: Tensor


class Rows(NamedTuple):
    """Inputs of a first layer that has weights before its sums.

    Attributes:
        x: Features of each source, targets first, ``(num_sources, features)``.
        adjacency: Sources of each target, by position in ``x``.
    """

    x: Tensor
    adjacency: Adjacency


class Named(NamedTuple):
    """Inputs of the first layer, by node id: the features are where the step is.

    Attributes:
        nodes: For sums: ids of the targets. For rows: ids of the sources.
        adjacency: Sources of each target. For sums: by node id. For rows: by position.
    """

    nodes: Tensor
    adjacency: Adjacency


class Minibatch(NamedTuple):
    """One rank's share of a step's batch.

    Attributes:
        inputs: Inputs of the first layer.
        blocks: Adjacency of each of the layers after the first.
        labels: ``(share,)``, the classes of the seed nodes.
        total: Seed nodes of the whole batch, over all ranks.
        seeds: Positions of the seed nodes among the last layer's targets; None where these
            are the seed nodes.
    """

    inputs: Summed | Rows | Named
    blocks: tuple[Adjacency, ...]
    labels: Tensor
    total: int
    seeds: Tensor | None = None

    def identity(self) -> tuple[tuple[Adjacency, ...], Tensor]:
        """Return the part that is the same wherever the features are looked up."""
        return self.blocks, self.labels


@dataclass(frozen=True, kw_only=True)
class InputTable:
    """The feature table, and what the first layer takes from it.

    Attributes:
        features: The table.
        aggregator: Aggregator of the first layer.
    """

    features: FeatureTable
    aggregator: Aggregator

    @property
    def by_position(self) -> bool:
        """True where the first layer's edges name gathered rows, not nodes."""
        return self.aggregator == "pool" or self.features.in_parts

    def looked_up(self, inputs: Summed | Rows | Named) -> Summed | Rows:
        """``inputs``, with what they name looked up."""
        if not isinstance(inputs, Named):
            return inputs
        rows = self.features.rows(inputs.nodes)
        if self.by_position:
            return Rows(rows, inputs.adjacency)
        heard = aggregate(self.aggregator, self.features.features, rows, inputs.adjacency)
        return Summed(None if self.aggregator == "gcn" else rows, heard)


@dataclass(frozen=True, kw_only=True)
class FetchMinibatch:
    """Maker of the mini-batch that a draw stands for.

    Attributes:
        sampler: Samples neighbourhoods.
        seeds: Ids of the nodes that a draw's indices stand for.
        labels: Class of every node, ``(num_nodes,)``.
        seed: Seed of the trial. The sample depends on it, the epoch, the step and the
            node alone, so that ranks share the sample that one process would draw.
        table: The feature table; it decides whether inputs are looked up here or in the step.
    """

    sampler: NeighbourSampler
    seeds: Ids
    labels: Tensor
    seed: int
    table: InputTable

    def __call__(self, draw: Draw) -> Minibatch:
        """The mini-batch of ``draw``."""
        seeds = self.seeds[draw.indices]
        sample = self.sampler.sample(seeds, self.seed, draw.epoch, draw.step)
        named = self._named(sample)
        return Minibatch(
            inputs=self.table.looked_up(named) if self.table.features.in_loader else named,
            blocks=sample.blocks,
            labels=self.labels[torch.from_numpy(seeds)],
            total=draw.total,
        )

    def _named(self, sample: Sample) -> Named:
        drawn = sample.drawn
        if self.table.by_position:
            nodes, positions = self.sampler.relabel(sample.targets, drawn.ids)
            indptr = torch.from_numpy(drawn.indptr.astype(np.int32))
            return Named(torch.from_numpy(nodes), Adjacency(indptr, torch.from_numpy(positions)))
        by_id = Adjacency(torch.from_numpy(drawn.indptr), torch.from_numpy(drawn.ids))
        return Named(torch.from_numpy(sample.targets), by_id)


def most_bytes(num_seeds: int, fanouts: Sequence[int], table: InputTable) -> int:
    """Bytes that a mini-batch of ``num_seeds`` seed nodes takes at most.

    An estimate where a layer hears from all neighbours, however many these are.
    """
    features = table.features.features
    num_nodes, row_bytes = len(features), features[:1].nbytes
    most = nodes = num_seeds
    for fanout in reversed(fanouts):
        most, nodes = nodes, num_nodes if fanout == ALL else nodes * (1 + fanout)
    targets = min(most, num_nodes)
    # A row for each source; or a target's own features and what it hears.
    num_rows = min(nodes, num_nodes) if table.by_position else 2 * targets
    # And a few whole numbers for each edge.
    return num_rows * row_bytes + targets * 32 * max(*fanouts, 8)
