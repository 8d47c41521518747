"""Short runs of graphsage on a small graph, for its tests."""

from pathlib import Path
from typing import Any

from orchestrator import DataFolders
from orchestrator.measurement.run import Context
from orchestrator.space.configs import replaced
from tests.trainables.running import batches_seen, context
from trainables.data.formats.graph_store import GraphStore
from trainables.data.sets.products_synthetic import PRODUCTS_SYNTHETIC
from trainables.graph.minibatch import Minibatch
from trainables.graphsage import SageConfig, graphsage

TINY = PRODUCTS_SYNTHETIC.at("0.002")
"""4,898 nodes, 490 of them to train on."""
QUICK = SageConfig(batch_size=100, fanouts=(4, 5), hidden=16, lr=0.01, threads=1)
"""Five steps an epoch of TINY."""


def quick(**knobs: object) -> SageConfig:
    return replaced(QUICK, knobs)


def store_of(data: Any) -> GraphStore:  # noqa: ANN401 - any data set
    return GraphStore.open(data.prepare(DataFolders.default(Path("nowhere"))).path)


def seen_by(config: SageConfig, where: Context | None = None) -> list[Minibatch]:
    """The micro-batches of one epoch, or of the epochs of ``where``."""
    steps = batches_seen(graphsage, config, where or context(TINY))
    return [part for parts in steps for part in parts]
