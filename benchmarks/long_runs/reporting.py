"""A sweep whose trials report at a set rate: by $REPORT_TRIALS, $REPORTS and $REPORTS_PER_S."""

from __future__ import annotations

import os
import time
from typing import TYPE_CHECKING

from orchestrator import Sweep, Trainable, choice, knobs, learning, maximize
from orchestrator.search import Grid

if TYPE_CHECKING:
    from orchestrator.measurement.run import Run

NUM_TRIALS = int(os.environ.get("REPORT_TRIALS", "2"))
NUM_REPORTS = int(os.environ.get("REPORTS", "1000"))
PERIOD_S = 1 / float(os.environ.get("REPORTS_PER_S", "250"))


@knobs
class Config:
    """Nothing that matters."""

    index: int = learning(default=0, ge=0, doc="tells the trials apart")


def train(config: Config, run: Run) -> None:
    """Take a step of two samples an epoch, and report it when it is due."""
    due = time.perf_counter()
    for epoch in run.epochs():
        for _batch in run.batches([None], samples=lambda _: 2):
            pass
        due += PERIOD_S
        time.sleep(max(0.0, due - time.perf_counter()))
        run.report(val_acc=1 - 1 / (2 + epoch + config.index), train_loss=1 / (1 + epoch))


reporting = Trainable(
    train, Config, reports=[maximize("val_acc")], preload=("torch",), name="reporting"
)

SWEEP = Sweep(
    reporting,
    question="What do reports cost?",
    space=Config(index=choice(*range(NUM_TRIALS))),
    epochs=NUM_REPORTS,
    objectives=[maximize("val_acc"), maximize("epochs")],
    search=Grid(),
    cores_per_trial=1,
    confirm=0,
    check_isolated=0,
    max_repeats=1,
)
