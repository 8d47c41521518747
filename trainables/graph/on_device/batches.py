"""Mini-batches sampled where the training is: the neighbours that the loader would have drawn."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import torch
from torch import Tensor

from trainables.data.formats.graph_store import GraphStore
from trainables.graph.adjacency import Adjacency
from trainables.graph.drawing import Ids
from trainables.graph.minibatch import InputTable, Minibatch, Named
from trainables.graph.on_device.draws import DeviceDraw, DeviceDrawn, relabelled, starts
from trainables.graph.places.placement import Sampling, graph_for
from trainables.graph.randomness import key_of
from trainables.graph.relational import RelationalBlock
from trainables.graph.relational_batches import RelationalBatch
from trainables.graph.sampling import LARGEST_TABLE
from trainables.loading import Draw


@dataclass(frozen=True, kw_only=True)
class DeviceSampler:
    """Sampler of seed nodes' neighbourhoods on a device.

    Attributes:
        draw: How neighbours are drawn.
        fanouts: Neighbours a node, from the input to the output layer.
        seeds: Ids of the nodes that a draw's indices stand for.
        labels: Their classes.
    """

    draw: DeviceDraw
    fanouts: Sequence[int]
    seeds: Tensor
    labels: Tensor

    @classmethod
    def of(
        cls,
        store: GraphStore,
        seeds: Ids,
        fanouts: Sequence[int],
        replace: bool,
        sampling: Sampling,
        device: torch.device,
    ) -> DeviceSampler:
        """The sampler of a stored graph.

        Raises:
            MemoryError: The GPU has no room for it.
        """
        graph, nodes = store.tensors(), torch.from_numpy(seeds)
        indptr, indices = graph_for(sampling, [graph.indptr, graph.indices], device)
        draw = DeviceDraw(indptr, indices, replace)
        labels = graph.labels[nodes].to(device)
        return cls(draw=draw, fanouts=fanouts, seeds=nodes.to(device), labels=labels)

    def places(self, draw: Draw) -> Tensor:
        """Positions of the seeds of ``draw`` among the nodes."""
        return torch.from_numpy(draw.indices).to(self.seeds.device)

    def drawn(self, nodes: Tensor, layer: int, *keys: int) -> DeviceDrawn:
        """Neighbours of a layer's targets; see :meth:`NeighbourSampler.sample` for the keys."""
        return self.draw(nodes, self.fanouts[layer], key_of(*keys, layer))

    def relabelled(self, nodes: Tensor, drawn: DeviceDrawn) -> tuple[Tensor, Tensor]:
        """The ids of a layer's sources, and the position of each edge's."""
        by_last_edge = self.draw.indptr.numel() - 1 <= LARGEST_TABLE
        return relabelled(nodes, drawn.ids, by_last_edge=by_last_edge)


@dataclass(frozen=True, kw_only=True)
class SampleMinibatch:
    """Maker of GraphSAGE's mini-batches; see :class:`~trainables.graph.minibatch.FetchMinibatch`.

    Attributes:
        sampler: Samples neighbourhoods.
        seed: Seed of the trial.
        table: The feature table.
    """

    sampler: DeviceSampler
    seed: int
    table: InputTable

    def __call__(self, draw: Draw) -> Minibatch:
        """The mini-batch of ``draw``."""
        sampler, keys = self.sampler, (self.seed, draw.epoch, draw.step)
        places = sampler.places(draw)
        nodes, blocks = sampler.seeds[places], list[Adjacency]()
        for layer in reversed(range(1, len(sampler.fanouts))):
            drawn = sampler.drawn(nodes, layer, *keys)
            nodes, sources = sampler.relabelled(nodes, drawn)
            blocks.insert(0, _with_gradient(drawn.indptr, sources, len(nodes)))
        return Minibatch(
            inputs=self._named(nodes, sampler.drawn(nodes, 0, *keys)),
            blocks=tuple(blocks),
            labels=sampler.labels[places],
            total=draw.total,
        )

    def _named(self, nodes: Tensor, drawn: DeviceDrawn) -> Named:
        if not self.table.by_position:
            return Named(nodes, Adjacency(drawn.indptr, drawn.ids))
        nodes, sources = self.sampler.relabelled(nodes, drawn)
        return Named(nodes, Adjacency(drawn.indptr.int(), sources.int()))


def _with_gradient(indptr: Tensor, sources: Tensor, num_sources: int) -> Adjacency:
    """As :func:`~trainables.graph.adjacency.adjacency_with_gradient`."""
    targets = torch.arange(len(indptr) - 1, device=indptr.device)
    targets = targets.repeat_interleave(indptr.diff(), output_size=len(sources))
    in_order, order = sources.sort(stable=True)
    out_indptr = torch.searchsorted(
        in_order, torch.arange(num_sources + 1, device=indptr.device), out_int32=True
    )
    return Adjacency(indptr.int(), sources.int(), out_indptr, targets[order].int())


@dataclass(frozen=True, kw_only=True)
class SampleRelational:
    """Maker of RGAT's mini-batches; see ``FetchRelational`` of :mod:`relational_batches`.

    Attributes:
        sampler: Samples neighbourhoods.
        edge_type: Relation of every edge of the graph.
        num_relations: Number of relations.
        keys: Keys of the sampling in addition to the node.
        each_step: Whether every step of every epoch samples anew.
    """

    sampler: DeviceSampler
    edge_type: Tensor
    num_relations: int
    keys: tuple[int, ...]
    each_step: bool

    def __call__(self, draw: Draw) -> RelationalBatch:
        """The mini-batch of ``draw``; its inputs are ids."""
        sampler = self.sampler
        keys = (*self.keys, draw.epoch, draw.step) if self.each_step else self.keys
        places = sampler.places(draw)
        nodes, blocks = sampler.seeds[places], list[RelationalBlock]()
        for layer in reversed(range(len(sampler.fanouts))):
            drawn, num_targets = sampler.drawn(nodes, layer, *keys), len(nodes)
            nodes, sources = sampler.relabelled(nodes, drawn)
            relations = self.edge_type[drawn.edges]
            blocks.insert(0, self._block(drawn.indptr, sources, relations, num_targets))
        return RelationalBatch(
            inputs=nodes,
            blocks=tuple(blocks),
            labels=sampler.labels[places],
            places=places,
            total=draw.total,
        )

    def _block(
        self, indptr: Tensor, sources: Tensor, relations: Tensor, num_targets: int
    ) -> RelationalBlock:
        """As :meth:`RelationalBlock.of`."""
        targets = torch.arange(num_targets, device=indptr.device)
        targets = targets.repeat_interleave(indptr.diff(), output_size=len(sources))
        keys, order = (relations.long() * num_targets + targets).sort(stable=True)
        of_pairs, pairs, counts = torch.unique_consecutive(
            keys, return_inverse=True, return_counts=True
        )
        pair_relations = of_pairs // max(num_targets, 1)
        bounds = torch.arange(self.num_relations + 1, device=indptr.device)
        return RelationalBlock(
            indptr=starts(counts),
            sources=sources[order],
            pairs=pairs,
            targets=of_pairs % max(num_targets, 1),
            relations=pair_relations,
            bounds=tuple(torch.searchsorted(pair_relations, bounds).tolist()),
            num_targets=num_targets,
        )
