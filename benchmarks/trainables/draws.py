"""GraphSAGE and DGL's loop on one graph, with one random choice exchanged at a time.

    python -m benchmarks.trainables.draws FOLDER --seeds 12 --epochs 40

FOLDER is a writable copy of a set in ogbn-products' layout. Prints the test accuracy of each
variant and seed; the first weights of a seed are equal where the number of outputs is.
"""

from __future__ import annotations

import argparse
import json
from collections.abc import Mapping
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import dgl
import numpy as np
import torch
from torch.nn import functional

from benchmarks.peers.sage_dgl import LabelledGraph, Sage
from benchmarks.trainables.training import trained
from orchestrator import DataFolders
from orchestrator.trial import Budget
from trainables.data.sets.ogbn_products import OGBN_PRODUCTS
from trainables.graph.layers import relu_dropout
from trainables.graph.randomness import key_of
from trainables.graphsage import SageConfig, graphsage
from trainables.loading import BatchOrder


class OurDropout(torch.nn.Module):
    """The dropout of the trainable."""

    def forward(self, h: torch.Tensor) -> torch.Tensor:
        """Drop half of the positive values."""
        return relu_dropout(h, 0.5, training=self.training)


def loop(
    data: LabelledGraph,
    epochs: int,
    seed: int,
    *,
    outputs: int = 8,
    order: bool = False,
    dropout: bool = False,
    replace: bool = True,
) -> float:
    """Return the test accuracy of DGL's loop, with our ``order`` or ``dropout`` where True."""
    config = SageConfig()
    torch.manual_seed(seed)
    dgl.seed(seed)
    np.random.seed(seed)
    network: Any = Sage([data.features.shape[1], config.hidden, outputs], "mean", config.dropout)
    if dropout:
        network.dropout = OurDropout()
    optimizer = torch.optim.Adam(network.parameters(), lr=config.lr)
    sampler = dgl.dataloading.NeighborSampler(list(config.fanouts), replace=replace)
    ours = BatchOrder(num_samples=len(data.train), batch_size=config.batch_size, seed=seed)
    for epoch in range(epochs):
        if dropout:
            torch.manual_seed(key_of(seed, epoch, 0))
        places = ours.permutation(epoch) if order else np.random.permutation(len(data.train))
        for nodes in data.train[torch.from_numpy(places)].split(config.batch_size):
            inputs, _, blocks = sampler.sample_blocks(data.graph, nodes)
            scores = network(blocks, data.features[inputs])
            optimizer.zero_grad()
            functional.cross_entropy(scores, data.labels[nodes]).backward()
            optimizer.step()
    network.eval()
    with torch.no_grad():
        right = network([data.graph] * 2, data.features).argmax(1) == data.labels
    return float(right[data.test].double().mean())


def trainable(folder: Path, epochs: int, seed: int, **knobs: Any) -> float:  # noqa: ANN401
    """Return the test accuracy of the trainable."""
    config = SageConfig(eval_every=epochs, **knobs)
    return trained(graphsage, config, folder, Budget(epochs=epochs), seed=seed)[1]["test_acc"]


def converted(folder: Path, cache: Path, meta: Mapping[str, int]) -> Path:
    """Convert the set with a description."""
    (folder / "meta_dict.json").write_text(json.dumps(meta))
    folders = DataFolders(root=folder.parent, cache=cache)
    return OGBN_PRODUCTS.at(str(folder)).prepare(folders).path


def main() -> None:
    """Train each variant with each seed and print a line for each training."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--seeds", type=int, default=12)
    parser.add_argument("--epochs", type=int, default=40)
    given = parser.parse_args()
    torch.set_num_threads(1)
    data, epochs = LabelledGraph.read(given.folder), given.epochs
    with TemporaryDirectory() as scratch:
        eight = converted(given.folder, Path(scratch, "8"), {})
        many = converted(given.folder, Path(scratch, "47"), {"num classes": 47})
        for seed in range(given.seeds):
            found = {
                "ours": trainable(eight, epochs, seed),
                "ours, no replacement": trainable(eight, epochs, seed, replace=False),
                "ours, 47 outputs": trainable(many, epochs, seed),
                "dgl": loop(data, epochs, seed),
                "dgl, our order": loop(data, epochs, seed, order=True),
                "dgl, our dropout": loop(data, epochs, seed, dropout=True),
                "dgl, no replacement": loop(data, epochs, seed, replace=False),
                "dgl, 47 outputs": loop(data, epochs, seed, outputs=47),
            }
            for name, accuracy in found.items():
                print(f"{seed} {name}: {accuracy:.4f}", flush=True)


if __name__ == "__main__":
    main()
