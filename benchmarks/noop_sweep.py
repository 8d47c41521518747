"""A sweep of $NOOP_TRIALS trials that import torch, report five times and do nothing else."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

from orchestrator import Rigor, Sweep, Trainable, choice, knobs, learning, maximize
from orchestrator.search import Grid

if TYPE_CHECKING:
    from orchestrator.measurement.run import Run

NUM_TRIALS = 32
NUM_REPORTS = 5


@knobs
class NoopConfig:
    """Nothing that matters."""

    index: int = learning(default=0, ge=0, doc="tells the trials apart")


def train(config: NoopConfig, run: Run) -> None:
    """Report, and do nothing in between."""
    import torch

    for epoch in run.epochs():
        run.report(val_acc=float(torch.tensor(epoch + config.index)) / 1e6)


noop = Trainable(train, NoopConfig, reports=[maximize("val_acc")], preload=("torch",), name="noop")

SWEEP = Sweep(
    noop,
    question="What does a trial cost that does nothing?",
    space=NoopConfig(index=choice(*range(int(os.environ.get("NOOP_TRIALS", NUM_TRIALS))))),
    epochs=NUM_REPORTS,
    objectives=[maximize("val_acc"), maximize("epochs")],
    search=Grid(),
    cores_per_trial=1,
    rigor=Rigor(confirm=0, check_isolated=0, max_repeats=1),
)
