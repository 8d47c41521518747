"""Accuracy of the trainables beside plain PyTorch and DGL code of the same settings.

    python -m benchmarks.trainables accuracy --data-root DIR
    python -m benchmarks.trainables accuracy --only rgat --seeds 2

Ours and the plain code train in turn, with the same config, epochs and seeds, in this process. The
median ratio of the accuracies has to lie within half a per cent; the embeddings have to beat the
number of common neighbours. The data root has ``mnist/MNIST/raw`` and ``ogb/...`` (default:
$SWEEP_TEST_DATA); sets are copied to a scratch folder first, because their own loaders write next
to them. Some 15 minutes on two idle cores.
"""

from __future__ import annotations

import argparse
import importlib
import os
import shutil
import sys
import tempfile
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from benchmarks.harness import Comparison, in_turn, printed
from benchmarks.trainables.training import trained
from orchestrator import DataFolders, Trainable
from orchestrator.arguments import Parser
from orchestrator.data import find_data
from orchestrator.trial import Budget
from trainables.graphsage import SageConfig, graphsage
from trainables.lenet import LeNetConfig, lenet
from trainables.mlp import MlpConfig, mlp
from trainables.node_embedding import NodeEmbeddingConfig, node_embedding
from trainables.rgat import RgatConfig, rgat

WITHIN: Final = 0.005
"""How far the ratio of the two accuracies may lie from 1."""

IMAGES: Final = "mnist/MNIST/raw"
PHOTO: Final = "ogb/ogbn_products"
"""Amazon Photo in the layout of ogbn-products."""
AIFB: Final = "ogb/ogbn_aifb"
GENERATED: Final = "products-synthetic@0.01"
_ALL: Final = (-1, -1)


@dataclass(frozen=True, kw_only=True, eq=False)
class Case:
    """One row: ours and plain code, trained with the same config.

    Attributes:
        trainable: Ours.
        peer: Module and function of the plain code, under ``benchmarks.peers``.
        data: A generated set's name, or a folder under the data root.
        config: Settings of both.
        epochs: Passes of both.
        folder: Folder under the data root that the plain code's own loader reads; None: the
            converted set.
    """

    trainable: Trainable[Any]
    peer: str
    data: str
    config: Any
    epochs: int
    folder: str | None = None

    @property
    def name(self) -> str:
        """Trainable, data and plain code."""
        return f"{self.trainable.name}, {self.data}, {self.peer.rpartition('.')[2]}"

    def compared(self, folders: DataFolders, seeds: int) -> Comparison:
        """Train both with each seed."""
        asked = str(folders.root / self.data) if "/" in self.data else self.data
        data = find_data(self.trainable.data, asked).prepare(folders).path
        source = data if self.folder is None else folders.root / self.folder
        module, _, function = self.peer.rpartition(".")
        plain = getattr(importlib.import_module(f"benchmarks.peers.{module}"), function)
        budget = Budget(epochs=self.epochs)

        def ours(seed: int) -> float:
            _, metrics = trained(self.trainable, self.config, data, budget, seed=seed)
            return metrics["test_auc" if self.trainable is node_embedding else "test_acc"]

        def peer(seed: int) -> float:
            return float(plain(self.config, source, epochs=self.epochs, seed=seed))

        is_heuristic = "common" in self.peer
        return Comparison(
            what=self.name,
            unit="",
            pairs=in_turn(ours, peer, pairs=seeds),
            at_least=1.0 if is_heuristic else 1 - WITHIN,
            at_most=None if is_heuristic else 1 + WITHIN,
        )


CASES: Final = (
    Case(
        trainable=lenet, peer="images.lenet", data=IMAGES, folder="mnist", epochs=2,
        config=LeNetConfig(lr=0.02, batch_size=128, hold_out=False, data_path="resident"),
    ),
    Case(
        trainable=mlp, peer="images.mlp", data=IMAGES, folder="mnist", epochs=3,
        config=MlpConfig(lr=0.02, batch_size=128, hold_out=False, data_placement="device"),
    ),
    Case(
        trainable=graphsage, peer="sage_dgl.graphsage", data=PHOTO, folder=PHOTO, epochs=40,
        config=SageConfig(hidden=128, dropout=0.2, batch_size=500, eval_every=40),
    ),
    Case(
        trainable=graphsage, peer="sage_dgl.graphsage", data=GENERATED, epochs=30,
        config=SageConfig(lr=5e-3, batch_size=500, eval_every=30),
    ),
    Case(
        trainable=rgat, peer="rgat_trained.rgat", data=AIFB, epochs=15,
        config=RgatConfig(
            lr=0.02, dropout=0.2, hidden=64, batch_size=28, fanouts=_ALL, test_fanouts=_ALL,
            test_batch_size=64, eval_every=15,
        ),
    ),
    Case(
        trainable=rgat, peer="rgat_trained.rgat", data="mag-synthetic", epochs=12,
        config=RgatConfig(
            lr=5e-3, hidden=64, batch_size=128, fanouts=(5, 5), test_fanouts=(15, 25),
            test_batch_size=256, eval_every=12,
        ),
    ),
    *(
        Case(
            trainable=node_embedding, peer=peer, data=data, epochs=1, config=NodeEmbeddingConfig()
        )
        for data in (PHOTO, GENERATED, "products-synthetic")
        for peer in ("links.common_neighbours", "links.skip_gram")
    ),
)  # fmt: skip


def main(arguments: Sequence[str] | None = None) -> int:
    """Train what is asked for and print the table; return 1 where a ratio is missed."""
    os.environ.setdefault("DGLBACKEND", "pytorch")  # without it DGL writes a config file
    options = _options(arguments)
    with tempfile.TemporaryDirectory(prefix="accuracy-") as scratch:
        folders = DataFolders(root=Path(scratch), cache=Path(scratch) / "cache")
        return printed(_rows(options, folders), "torch", "torchvision", "dgl")


def _options(arguments: Sequence[str] | None) -> argparse.Namespace:
    parser = Parser(prog="python -m benchmarks.trainables accuracy", description=__doc__)
    parser.add_argument("--data-root", type=Path, help="where real sets are")
    parser.add_argument("--only", default="", metavar="TEXT", help="cases that have it in the name")
    parser.add_argument("--seeds", type=int, default=5, help="trainings of each side")
    options = parser.parse_args(arguments)
    root = options.data_root or os.environ.get("SWEEP_TEST_DATA")
    if root is None or not Path(root).is_dir():
        parser.error("no real data: give --data-root, or set SWEEP_TEST_DATA")
    options.data_root = Path(root)
    options.cases = [case for case in CASES if options.only.casefold() in case.name.casefold()]
    if not options.cases:
        names = "\n".join(case.name for case in CASES)
        sys.exit(f"no case has {options.only!r} in its name; there are:\n{names}")
    return options


def _rows(options: argparse.Namespace, folders: DataFolders) -> Iterator[Comparison]:
    import torch

    torch.set_num_threads(1)  # more are slower where other load shares the cores
    for part in {case.data.partition("/")[0] for case in options.cases if "/" in case.data}:
        # Files only: the sets may be read-only, and so would their copies be.
        shutil.copytree(
            options.data_root / part, folders.root / part, copy_function=shutil.copyfile
        )
    for case in options.cases:
        yield case.compared(folders, options.seeds)
