"""The comparisons: a trainable, its data and settings, the plain code, what is to be reached."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final, Literal

from benchmarks.trainables.accuracy.difference import Difference
from orchestrator import Trainable
from trainables.graphsage import SageConfig, graphsage
from trainables.lenet import LeNetConfig, lenet
from trainables.mlp import MlpConfig, mlp
from trainables.node_embedding import NodeEmbeddingConfig, node_embedding
from trainables.rgat import RgatConfig, rgat

WITHIN: Final = 0.005
"""How far the two means may lie apart: half a point."""


@dataclass(frozen=True, kw_only=True, eq=False)
class Case:
    """One row: ours and plain code, trained with the same config.

    Attributes:
        trainable: Ours.
        peer: Module and function of the plain code, under ``benchmarks.peers``.
        data: A generated set's name, or a folder under the data root.
        folder: What the plain code reads: a part of ``data`` that its own loader takes; None:
            the converted set.
        config: Settings of both.
        epochs: Passes of both.
        figure: What ours reports and the plain code returns.
        aim: ``same``: the means lie within half a point. ``above``: ours is higher.
    """

    trainable: Trainable[Any]
    peer: str
    data: str
    config: Any
    epochs: int
    folder: str | None = None
    figure: str = "test_acc"
    aim: Literal["same", "above"] = "same"

    @property
    def name(self) -> str:
        """Trainable, data and plain code."""
        return f"{self.trainable.name}, {self.data}, {self.peer.rpartition('.')[2]}"

    @property
    def is_real(self) -> bool:
        """True where the data lies under the data root."""
        return "/" in self.data

    def is_reached(self, difference: Difference) -> bool:
        """Return True if the means are as the case wants them."""
        if self.aim == "above":
            return difference.mean > 0
        return abs(difference.mean) <= WITHIN

    def source(self, root: Path) -> Path | None:
        """Return what the plain code reads, if that is not the converted set."""
        return None if self.folder is None else root / self.folder


IMAGES: Final = "mnist/MNIST/raw"
PHOTO: Final = "ogb/ogbn_products"
"""Amazon Photo in the layout of ogbn-products."""
AIFB: Final = "ogb/ogbn_aifb"
GENERATED: Final = "products-synthetic@0.01"


def cases() -> Sequence[Case]:
    """All of them, in the order of the page."""
    everything = (-1, -1)
    return (
        Case(
            trainable=lenet,
            peer="images.lenet",
            data=IMAGES,
            folder="mnist",
            config=LeNetConfig(lr=0.02, batch_size=128, hold_out=False, data_path="resident"),
            epochs=2,
        ),
        Case(
            trainable=mlp,
            peer="images.mlp",
            data=IMAGES,
            folder="mnist",
            config=MlpConfig(lr=0.02, batch_size=128, hold_out=False, data_placement="device"),
            epochs=3,
        ),
        Case(
            trainable=graphsage,
            peer="sage_dgl.graphsage",
            data=PHOTO,
            folder=PHOTO,
            config=SageConfig(hidden=128, dropout=0.2, batch_size=500, eval_every=40),
            epochs=40,
        ),
        Case(
            trainable=graphsage,
            peer="sage_dgl.graphsage",
            data=GENERATED,
            config=SageConfig(lr=5e-3, batch_size=500, eval_every=30),
            epochs=30,
        ),
        Case(
            trainable=rgat,
            peer="rgat_trained.rgat",
            data=AIFB,
            config=RgatConfig(
                lr=0.02,
                dropout=0.2,
                hidden=64,
                batch_size=28,
                fanouts=everything,
                test_fanouts=everything,
                test_batch_size=64,
                eval_every=15,
            ),
            epochs=15,
        ),
        Case(
            trainable=rgat,
            peer="rgat_trained.rgat",
            data="mag-synthetic",
            config=RgatConfig(
                lr=5e-3,
                hidden=64,
                batch_size=128,
                fanouts=(5, 5),
                test_fanouts=(15, 25),
                test_batch_size=256,
                eval_every=12,
            ),
            epochs=12,
        ),
        *(
            Case(
                trainable=node_embedding,
                peer=peer,
                data=data,
                config=NodeEmbeddingConfig(),
                epochs=1,
                figure="test_auc",
                aim="above" if "common" in peer else "same",
            )
            for data in (PHOTO, GENERATED, "products-synthetic")
            for peer in ("links.common_neighbours", "links.skip_gram")
        ),
    )
