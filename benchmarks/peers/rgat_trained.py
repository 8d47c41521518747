"""Training of DGL's network for MAG240M as its example has it: DGL's sampler and loader."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import dgl
import numpy as np
import torch
from torch import Tensor, nn
from torch.nn import functional

from benchmarks.peers.rgat_dgl import DglRgat
from trainables.data.formats.relational_store import RelationalStore

if TYPE_CHECKING:
    from trainables.rgat import RgatConfig


class WithInputs(nn.Module):
    """The network, and learnable vectors where nodes have no features."""

    def __init__(self, config: RgatConfig, store: RelationalStore) -> None:
        super().__init__()
        width = store.num_features or config.hidden
        self.features = store.tensors().features
        self.vectors = None
        if self.features is None:
            self.vectors = nn.Embedding(store.num_nodes, width)
            if config.embedding_init == "xavier":
                nn.init.xavier_uniform_(self.vectors.weight)
        self.network = DglRgat(
            width,
            store.num_classes,
            hidden=config.hidden,
            heads=config.heads,
            num_layers=len(config.fanouts),
            num_relations=store.num_relations,
            dropout=config.dropout,
        )

    def forward(self, blocks: list[Any], nodes: Tensor) -> Tensor:
        """Scores of the last block's targets."""
        if self.vectors is not None:
            inputs = self.vectors(nodes)
        else:
            assert self.features is not None, "a set has features, or vectors stand for them"
            inputs = self.features[nodes].float()
        scores: Tensor = self.network(blocks, inputs)
        return scores


def rgat(config: RgatConfig, folder: Path, *, epochs: int, seed: int) -> float:
    """Train by sampled mini-batches; return the last model's test accuracy.

    Args:
        config: Its ``eval_every`` is ``epochs``: no model is chosen by validation.
        folder: Of the :class:`RelationalStore`.
        epochs: Passes over the training nodes.
        seed: Of weights, order, samples and dropout.
    """
    store = RelationalStore.open(folder)
    graph, arrays = store.dgl_graph(), store.tensors()
    graph.edata["etype"] = arrays.edge_type.long()
    torch.manual_seed(seed)
    dgl.seed(seed)
    np.random.seed(seed)  # DGL's loader shuffles by numpy's global generator
    network = WithInputs(config, store)
    optimizer = torch.optim.Adam(
        network.parameters(), lr=config.lr, weight_decay=config.weight_decay
    )
    steps = torch.optim.lr_scheduler.StepLR(optimizer, config.lr_step, config.lr_decay)

    def loader(nodes: Tensor, fanouts: tuple[int, ...], size: int, *, shuffle: bool) -> Any:  # noqa: ANN401 - DGL has no types
        sampler = dgl.dataloading.NeighborSampler(list(fanouts))
        return dgl.dataloading.DataLoader(graph, nodes, sampler, batch_size=size, shuffle=shuffle)

    for _ in range(epochs):
        for inputs, seeds, blocks in loader(
            arrays.train, config.fanouts, config.batch_size, shuffle=True
        ):
            scores = network(blocks, inputs)
            optimizer.zero_grad()
            functional.cross_entropy(scores, arrays.labels[seeds]).backward()
            optimizer.step()
        steps.step()
    network.eval()
    right = []
    with torch.no_grad():
        for inputs, seeds, blocks in loader(
            arrays.test, config.test_fanouts, config.test_batch_size, shuffle=False
        ):
            right.append(network(blocks, inputs).argmax(1) == arrays.labels[seeds])
    return float(torch.cat(right).double().mean())
