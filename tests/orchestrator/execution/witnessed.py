"""A sweep file whose trials write down when they, and their loader workers, were at work."""

from __future__ import annotations

import os
import time
from pathlib import Path
from typing import Literal

import torch
from torch.utils.data import DataLoader

from orchestrator import Demand, Machine, Sweep, Trainable, both, knobs, maximize
from orchestrator.measurement.run import Run

Act = Literal["train", "die_once", "raise"]


@knobs
class Config:
    act: Act = both(default="train", doc="what to do")
    step_ms: float = both(default=5.0, gt=0, unit="ms", doc="of computing in a step")
    num_workers: int = both(default=0, ge=0, doc="loader processes")
    num_steps: int = both(default=50, ge=1, doc="of an epoch")


def train(config: Config, run: Run) -> None:
    assert run.checkpoint_dir is not None
    book = run.checkpoint_dir.parents[1] / f"book-{run.checkpoint_dir.name}"
    loader = DataLoader(
        Items(config.num_steps, book), batch_size=None, num_workers=config.num_workers
    )
    for epoch in run.epochs():
        for _ in run.batches(loader, samples=lambda _: 8):
            began = time.monotonic()
            _burn(config.step_ms / 1000)
            _write(book, began)
        marker = book.with_suffix(".died")
        if config.act == "die_once" and epoch == 1 and not marker.exists():
            marker.touch()
            os.kill(os.getpid(), 9)
        if config.act == "raise":
            raise ValueError("told to")
        run.report(val_acc=0.5)


class Items(torch.utils.data.Dataset[int]):
    """So many; making one takes five milliseconds."""

    def __init__(self, num_items: int, book: Path) -> None:
        self._num_items, self._book = num_items, book

    def __len__(self) -> int:
        return self._num_items

    def __getitem__(self, index: int) -> int:
        began = time.monotonic()
        _burn(0.005)
        _write(self._book, began)
        return index


def _burn(seconds: float) -> None:
    until = time.thread_time() + seconds
    while time.thread_time() < until:
        sum(range(100))


def _write(book: Path, began: float) -> None:
    with book.open("a") as file:
        file.write(f"{began} {time.monotonic()}\n")


def demand(config: Config, _machine: Machine) -> Demand:
    return Demand(workers=config.num_workers, burst=max(config.num_workers * 2, 1))


witnessed = Trainable(
    train,
    Config,
    reports=[maximize("val_acc")],
    demand=demand,
    preload=("torch", "torch.utils.data"),
    name="witnessed",
)

SWEEP = Sweep(witnessed, question="Who was at work when?", space=Config())
