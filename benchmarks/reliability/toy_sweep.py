"""The sweep whose processes are killed: short trials with a loader worker and a checkpoint."""

from __future__ import annotations

import os
import time

import torch
from torch.utils.data import DataLoader, Dataset

from orchestrator import Isolation, Run, Sweep, Trainable, both, choice, knobs, maximize
from orchestrator.search import Grid

NUM_TRIALS = int(os.environ.get("RELIABILITY_TRIALS", "8"))


@knobs
class Config:
    """Knobs of the toy trainable."""

    lr: float = both(default=1.0, gt=0, doc="nothing but another config")


class _Batches(Dataset[torch.Tensor]):
    """Batches that take a while."""

    def __len__(self) -> int:
        return 15

    def __getitem__(self, index: int) -> torch.Tensor:
        time.sleep(0.02)
        return torch.full((8,), float(index))


def train(config: Config, run: Run) -> None:
    """Train nothing for some three seconds, in four epochs."""
    state = run.restore() or {"total": torch.zeros(())}
    total = state["total"]
    for epoch in run.epochs():
        loader = DataLoader(_Batches(), batch_size=None, num_workers=1)
        for batch in run.batches(loader, samples=len):
            total = total + config.lr * batch.sum()
        run.checkpoint({"total": total})
        run.report(val_acc=0.5 + 0.1 * epoch)


toy = Trainable(train, Config, reports=[maximize("val_acc")], preload=("torch",), name="toy")

SWEEP = Sweep(
    toy,
    question="What is lost when a process dies?",
    space=Config(lr=choice(*(1.0 + number for number in range(NUM_TRIALS)))),
    epochs=4,
    search=Grid(),
    confirm=0,
    max_confirm=0,
    max_repeats=1,
    check_isolated=0,
    cores_per_trial=1,
    isolation=Isolation.SHARED,
    retries=6,
)
