"""GraphSAGE as DGL's example of sampled training has it."""

from __future__ import annotations

from itertools import pairwise
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import dgl
import dgl.nn
import numpy as np
import torch
from torch import Tensor, nn
from torch.nn import functional

from trainables.data.formats.graph_store import GraphStore
from trainables.data.formats.ogb_loader import quiet_ogb

if TYPE_CHECKING:
    from trainables.graphsage import SageConfig


class LabelledGraph(NamedTuple):
    """A graph with features, labels and a split."""

    graph: Any
    features: Tensor
    labels: Tensor
    train: Tensor
    test: Tensor
    num_classes: int

    @classmethod
    def read(cls, folder: Path) -> LabelledGraph:
        """Read a set: a folder in OGB's layout by OGB's loader, or a generated graph's store."""
        if not (folder / "raw").is_dir():
            store = GraphStore.open(folder)
            arrays = store.tensors()
            graph = store.dgl_graph()
            parts = (arrays.train, arrays.test, store.num_classes)
            return cls(graph, arrays.features.clone(), arrays.labels.clone(), *parts)
        with quiet_ogb():
            from ogb.nodeproppred import DglNodePropPredDataset

            dataset = DglNodePropPredDataset("ogbn-products", root=str(folder.parent))
            graph, labels = dataset[0]
            split = dataset.get_idx_split()
        features, labels = graph.ndata.pop("feat"), labels.flatten()
        # OGB counts the real set's 47 classes; this one may have fewer.
        parts = (split["train"], split["test"], int(labels.max()) + 1)
        return cls(graph, features, labels, *parts)


class Sage(nn.Module):
    """A stack of DGL's convolutions with relu and dropout between them."""

    def __init__(self, widths: list[int], aggregator: str, dropout: float) -> None:
        super().__init__()
        self.layers = nn.ModuleList(
            dgl.nn.SAGEConv(before, after, aggregator) for before, after in pairwise(widths)
        )
        self.dropout = nn.Dropout(dropout)

    def forward(self, blocks: list[Any], h: Tensor) -> Tensor:
        """Scores of the last block's targets, ``(num_targets, classes)``."""
        for index, (layer, block) in enumerate(zip(self.layers, blocks, strict=True)):
            h = layer(block, h)
            if index < len(self.layers) - 1:
                h = self.dropout(functional.relu(h))
        return h


def graphsage(config: SageConfig, folder: Path, *, epochs: int, seed: int) -> float:
    """Train by sampled mini-batches; return the test accuracy with all neighbours."""
    data = LabelledGraph.read(folder)
    torch.manual_seed(seed)
    dgl.seed(seed)
    np.random.seed(seed)  # DGL's loader shuffles by numpy's global generator
    hidden = [config.hidden] * (len(config.fanouts) - 1)
    widths = [data.features.shape[1], *hidden, data.num_classes]
    network = Sage(widths, config.aggregator, config.dropout)
    optimizer = torch.optim.Adam(
        network.parameters(), lr=config.lr, weight_decay=config.weight_decay
    )
    sampler = dgl.dataloading.NeighborSampler(list(config.fanouts), replace=config.replace)
    loader = dgl.dataloading.DataLoader(
        data.graph, data.train, sampler, batch_size=config.batch_size, shuffle=True
    )
    for _ in range(epochs):
        for inputs, seeds, blocks in loader:
            scores = network(blocks, data.features[inputs])
            optimizer.zero_grad()
            functional.cross_entropy(scores, data.labels[seeds]).backward()
            optimizer.step()
    network.eval()
    with torch.no_grad():
        scores = network([data.graph] * len(config.fanouts), data.features)
    right = scores[data.test].argmax(1) == data.labels[data.test]
    return float(right.double().mean())
