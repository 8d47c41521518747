"""Batches of a relational graph, with its parts in the places that a config asks for."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import torch
from torch import Tensor

from orchestrator import Phase, Run, knobs, systems
from orchestrator.space.configs import replaced
from trainables.data.formats.relational_store import RelationalStore
from trainables.graph.drawing import Ids
from trainables.graph.micro_batches import FetchParts, MicroBatchKnobs
from trainables.graph.on_device.batches import DeviceSampler, SampleRelational
from trainables.graph.on_device.draws import DeviceDraw
from trainables.graph.places.features import FeatureTable
from trainables.graph.places.mapped import MappedMemory
from trainables.graph.places.placement import PlacementKnobs, graph_for
from trainables.graph.relational_batches import (
    FetchRelational,
    RelationalBatch,
    most_relational_bytes,
    neighbourhoods,
)
from trainables.graph.slots import Slots
from trainables.loading import BatchOrder, LoadedBatches
from trainables.settings import PrefetchKnobs, cores_of_workers


@knobs
class RelationalKnobs(PrefetchKnobs, PlacementKnobs, MicroBatchKnobs):
    """Knobs of the way of the batches."""

    mapped_gib: float = systems(
        default=4.0,
        gt=0,
        unit="GiB",
        doc="mapped files, libraries too, that a process has in its memory before it lets go",
    )

    def has_loader(self) -> bool:
        """Return True if batches come through a loader."""
        return self.sampling == "cpu"


@dataclass(frozen=True, kw_only=True)
class RelationalGraph:
    """A stored graph and the places of its parts.

    Attributes:
        store: The stored graph.
        table: Its features, or None where it has none.
        run: The run, with the device of the training.
        memory: Mapped files to release once features are looked up in a step.
        on_device: ``indptr``, ``indices`` and ``edge_type`` that it samples from; none where the
            loader samples from the store.
    """

    store: RelationalStore
    table: FeatureTable | None
    run: Run
    memory: MappedMemory
    on_device: Sequence[Tensor]

    @classmethod
    def of(cls, store: RelationalStore, config: RelationalKnobs, run: Run) -> RelationalGraph:
        """The graph with its parts where a config asks for them.

        Raises:
            MemoryError: The GPU has no room for them.
        """
        tensors, on_device, table = store.tensors(), list[Tensor](), None
        if config.sampling != "cpu":
            arrays = [tensors.indptr, tensors.indices, tensors.edge_type]
            on_device = graph_for(config.sampling, arrays, run.device)
        if tensors.features is not None:
            table = FeatureTable.of(tensors.features, store.indptr, config, run.device)
        mapped = [] if store.features is None else [store.features]
        memory = MappedMemory(mapped, config.mapped_gib * 2**30)
        return cls(store=store, table=table, run=run, memory=memory, on_device=on_device)

    @property
    def phase(self) -> Phase:
        """Phase of a step that a look-up of features belongs to."""
        return Phase.FORWARD if self.table is None else self.table.phase

    def looked_up(self, inputs: Tensor) -> Tensor:
        """Features of a batch's sources, if the batch only names them."""
        if self.table is None or self.table.in_loader:
            return inputs
        rows = self.table.rows(inputs)
        self.memory.keep_within_limit()
        return rows

    def batches(
        self,
        order: BatchOrder,
        nodes: Ids,
        fanouts: Sequence[int],
        config: RelationalKnobs,
        *,
        training: bool,
    ) -> LoadedBatches[tuple[RelationalBatch, ...]]:
        """Micro-batches of each step.

        Args:
            order: The draws of each epoch.
            nodes: Ids of the nodes that a draw's indices stand for.
            fanouts: Neighbours a node, from the input to the output layer.
            config: How they are made.
            training: Whether every step samples anew, and in parts.
        """
        count, keys = config.accumulate if training else 1, (order.seed, int(training))
        share = math.ceil(order.batch_size / order.world_size / count)
        most = count * most_relational_bytes(share, fanouts, self.store)
        sampled = self._sampled_here if self.on_device else self._loaded
        parts = FetchParts(
            fetch=sampled(nodes, fanouts, keys, each_step=training),
            count=count,
            slots=Slots.between(config, most),
        )
        # Workers of one evaluation would wait for the next one throughout an epoch of training.
        kept = config if training else replaced(config, {"persistent_workers": False})
        return LoadedBatches(parts, order, kept, cores_of_workers(config, self.run))

    def _loaded(
        self, nodes: Ids, fanouts: Sequence[int], keys: tuple[int, ...], *, each_step: bool
    ) -> FetchRelational:
        return neighbourhoods(
            self.store,
            nodes,
            fanouts=fanouts,
            keys=keys,
            each_step=each_step,
            mapped_bytes=self.memory.limit_bytes,
            features=self.table.features if self.table and self.table.in_loader else None,
        )

    def _sampled_here(
        self, nodes: Ids, fanouts: Sequence[int], keys: tuple[int, ...], *, each_step: bool
    ) -> SampleRelational:
        indptr, indices, edge_type = self.on_device
        return SampleRelational(
            sampler=DeviceSampler(
                draw=DeviceDraw(indptr, indices, replace=False),
                fanouts=fanouts,
                seeds=torch.from_numpy(nodes).to(self.run.device),
                labels=torch.from_numpy(self.store.labels[nodes]).to(self.run.device),
            ),
            edge_type=edge_type,
            num_relations=self.store.num_relations,
            keys=keys,
            each_step=each_step,
        )
