"""Short runs of rgat on a small graph, for its tests."""

from pathlib import Path
from typing import Any

from orchestrator import DataFolders
from orchestrator.measurement.run import Context
from orchestrator.space.configs import replaced
from tests.trainables.running import batches_seen, context
from trainables.data.formats.relational_store import RelationalStore
from trainables.data.sets.mag_synthetic import MAG_SYNTHETIC
from trainables.graph.relational_batches import RelationalBatch
from trainables.rgat import RgatConfig, rgat

TINY = MAG_SYNTHETIC.at("1e-5")
"""2,472 nodes, 294 of them to train on, in four classes."""
QUICK = RgatConfig(
    batch_size=60,
    fanouts=(3, 4),
    eval_fanouts=(8, 8),
    eval_batch_size=41,
    test_fanouts=(9, 9),
    hidden=16,
    heads=2,
    lr=0.01,
    threads=1,
)
"""Five steps an epoch of TINY."""


def quick(**knobs: object) -> RgatConfig:
    return replaced(QUICK, knobs)


def store_of(data: Any) -> RelationalStore:  # noqa: ANN401 - any data set
    return RelationalStore.open(data.prepare(DataFolders.default(Path("nowhere"))).path)


def seen_by(config: RgatConfig, where: Context | None = None) -> list[RelationalBatch]:
    """The micro-batches of one epoch, or of the epochs of ``where``."""
    steps = batches_seen(rgat, config, where or context(TINY))
    return [part for parts in steps for part in parts]
