"""The sweep whose tracking URI holds a secret: two trials that do nothing for ``TRIAL_S``."""

from __future__ import annotations

import os
import time

from orchestrator import Isolation, Run, Sweep, Trainable, choice, knobs, learning, maximize
from orchestrator.search import Grid


@knobs
class Config:
    """Nothing that matters."""

    index: int = learning(default=0, ge=0, doc="tells the trials apart")


def train(config: Config, run: Run) -> None:
    """Report once."""
    for _ in run.epochs():
        time.sleep(float(os.environ.get("TRIAL_S", "0")))
        run.report(val_acc=0.5 + 0.1 * config.index)


quick = Trainable(train, Config, reports=[maximize("val_acc")], name="quick")

SWEEP = Sweep(
    quick,
    question="Where does a secret go?",
    space=Config(index=choice(0, 1)),
    objectives=[maximize("val_acc"), maximize("epochs")],
    epochs=1,
    search=Grid(),
    confirm=0,
    max_repeats=1,
    check_isolated=0,
    cores_per_trial=1,
    isolation=Isolation.SHARED,
)
