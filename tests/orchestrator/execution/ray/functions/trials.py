"""Trials of functions of Ray Tune in the test's own process."""

import tempfile
from pathlib import Path
from typing import Any

from orchestrator import Machine, Node, Trainable
from orchestrator.data import PreparedData
from orchestrator.measurement.run import Context, Run
from orchestrator.metric_table import METRICS
from orchestrator.trial import Budget
from tests.trainables.running import Reports

MACHINE = Machine(nodes=(Node(name="here", cpus=8, gpus=2),))


def trained(
    trainable: Trainable[Any],
    config: object = None,
    *,
    folder: Path | None = None,
    data: PreparedData | None = None,
    pause_after: int | None = None,
) -> list[dict[str, float]]:
    """Train one config; return what was reported of each report, without the measurement."""
    channel = Reports()
    with tempfile.TemporaryDirectory() as own:
        context = Context(
            seed=0,
            budget=Budget(epochs=9, pause_after=pause_after),
            checkpoint_dir=folder or Path(own),
            data=data,
            trial_id="abcde12345",
        )
        try:
            trainable.train(config or trainable.config(), Run(context, channel))
        finally:
            trained.reports = [  # type: ignore[attr-defined] # those before an error, too
                {name: value for name, value in each.metrics.items() if name not in METRICS}
                for each in channel.kept
            ]
    return list(trained.reports)  # type: ignore[attr-defined]
