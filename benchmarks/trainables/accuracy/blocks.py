"""Sampled blocks beside those of the study's sampler: targets and edges of each layer."""

from __future__ import annotations

import statistics
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final

import numpy as np

from orchestrator.data import DataFolders, find_data
from trainables.graphsage import SageConfig, graphsage

FROM_SEEDS: Final = (10, 25)
"""The study's fan-outs: of the seeds, and of what these hear from."""
WITHIN: Final = 0.02
"""How far the numbers of first-layer targets may lie apart, as a share."""
BATCHES: Final = 20


@dataclass(frozen=True, kw_only=True)
class Blocks:
    """Mean sizes of the blocks of a batch.

    Attributes:
        first_targets: Nodes that the first layer computes.
        first_edges: Neighbours that these hear from.
        last_edges: Neighbours that the seeds hear from.
    """

    first_targets: float
    first_edges: float
    last_edges: float


@dataclass(frozen=True, kw_only=True)
class BlocksBesideStudy:
    """Sizes on one graph."""

    data: str
    batch_size: int
    ours: Blocks
    study: Blocks

    @property
    def apart(self) -> float:
        """Our first-layer targets over the study's, less 1."""
        return self.ours.first_targets / self.study.first_targets - 1

    @property
    def is_reached(self) -> bool:
        """True if they lie within 2 %."""
        return abs(self.apart) <= WITHIN


def measured(data: str, folders: DataFolders, batches: int = BATCHES) -> BlocksBesideStudy:
    """Sample the same batches by graphsage's default fan-outs and by the study's sampler."""
    import dgl
    import torch

    from benchmarks.peers.sage_dgl import study_blocks
    from trainables.data.formats.graph_store import GraphStore
    from trainables.graph.drawing import UniformDraw
    from trainables.graph.sampling import NeighbourSampler, relabelling

    path: Path = find_data(graphsage.data, data).prepare(folders).path
    store, config = GraphStore.open(path), SageConfig()
    draw = UniformDraw(store.indptr, store.indices, config.replace)
    sampler = NeighbourSampler(draw, config.fanouts, relabelling(store.num_nodes))
    graph, rng = store.dgl_graph(), np.random.default_rng(0)
    dgl.seed(0)
    size = min(config.batch_size, len(store.train))
    ours, study = [], []
    for step in range(batches):
        seeds = rng.choice(np.asarray(store.train), size, replace=False)
        sample = sampler.sample(seeds, 0, 0, step)
        ours.append((len(sample.targets), len(sample.drawn.ids), len(sample.blocks[0].indices)))
        blocks = study_blocks(graph, torch.from_numpy(seeds), FROM_SEEDS)
        first, last = blocks
        study.append((first.num_dst_nodes(), first.num_edges(), last.num_edges()))
    return BlocksBesideStudy(data=data, batch_size=size, ours=_mean(ours), study=_mean(study))


def _mean(sizes: Sequence[tuple[int, int, int]]) -> Blocks:
    targets, edges, last = (statistics.mean(column) for column in zip(*sizes, strict=True))
    return Blocks(first_targets=targets, first_edges=edges, last_edges=last)
