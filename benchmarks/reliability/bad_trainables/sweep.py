"""A sweep of which each config misbehaves in its own way; the variable ``WAYS`` names them."""

from __future__ import annotations

import os
import time

from benchmarks.reliability.bad_trainables.misbehaviour import WAYS
from orchestrator import Isolation, Run, Sweep, Trainable, both, choice, knobs, maximize
from orchestrator.search import Grid


@knobs
class Config:
    """The way."""

    way: str = both(default="good", doc="what is done at the end of the first epoch")


def train(config: Config, run: Run) -> None:
    """Train for two epochs, and misbehave."""
    for epoch in run.epochs():
        for _ in run.batches([0] * 20, samples=lambda _: 8):
            time.sleep(0.0005)
        if epoch == 0:
            WAYS[config.way].act(run)
        run.report(val_acc=0.5)


SWEEP = Sweep(
    Trainable(train, Config, reports=[maximize("val_acc")], name="misbehaving"),
    question="What does one bad trial cost the others?",
    space=Config(way=choice("good", *os.environ.get("WAYS", "exit").split("\n"))),
    epochs=2,
    search=Grid(),
    confirm=0,
    max_confirm=0,
    max_repeats=1,
    check_isolated=0,
    retries=0,
    time_limit_s=120,
    isolation=Isolation.SHARED,
)
