"""Sweep file with trials that are bound by the part that their config names."""

import os
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Literal

import torch
from torch import Tensor, nn
from torch.utils.data import DataLoader, Dataset

from orchestrator import Demand, Machine, Sweep, Trainable, both, knobs, maximize, systems
from orchestrator.measurement.run import Run

WIDTH = 64


@knobs
class Config:
    hidden: int = both(default=64, ge=1, doc="width of the network")
    batch_size: int = both(default=64, ge=1, doc="rows a step")
    resident: bool = systems(default=True, doc="rows in memory, or from a loader that sleeps")
    sleep_ms: float = systems(default=0.0, ge=0, doc="what the loader sleeps for a batch")
    python_ms: float = systems(default=0.0, ge=0, doc="what a step spends in Python")
    num_workers: int = systems(
        default=0, ge=0, doc="loader processes", applies=lambda config: not config.resident
    )
    steps: int = both(default=60, ge=1, doc="steps an epoch")
    after: Literal["", "raise", "die"] = systems(default="", doc="what a second call does")


class Rows(Dataset[Tensor]):
    def __init__(self, config: Config) -> None:
        self._config = config

    def __len__(self) -> int:
        return self._config.steps

    def __getitem__(self, index: int) -> Tensor:
        time.sleep(self._config.sleep_ms / 1000)
        return torch.full((self._config.batch_size, WIDTH), float(index))


def resident(config: Config) -> Iterator[Tensor]:
    rows = torch.randn(8 * config.batch_size, WIDTH).split(config.batch_size)
    return (rows[step % len(rows)] for step in range(config.steps))


def train(config: Config, run: Run) -> None:
    torch.manual_seed(run.seed)
    torch.set_num_threads(1)
    assert run.checkpoint_dir is not None or config.after != "raise", "told to fail"
    if run.checkpoint_dir is None and config.after == "die":
        os.kill(os.getpid(), 9)
    network = nn.Sequential(
        nn.Linear(WIDTH, config.hidden), nn.ReLU(), nn.Linear(config.hidden, config.hidden),
        nn.ReLU(), nn.Linear(config.hidden, 10),
    )  # fmt: skip
    optimizer = torch.optim.SGD(network.parameters(), lr=1e-3)
    run.watch(network, optimizer)
    workers = config.num_workers
    loader: DataLoader[Tensor] = DataLoader(
        Rows(config), batch_size=None, num_workers=workers, worker_init_fn=_one_thread,
    )  # fmt: skip
    for _ in run.epochs():
        for rows in run.batches(resident(config) if config.resident else loader, samples=len):
            network(rows).square().mean().backward()
            optimizer.step()
            optimizer.zero_grad()
            spin_until = time.perf_counter() + config.python_ms / 1000
            while time.perf_counter() < spin_until:
                pass
        run.report(val_acc=0.5)
    if run.checkpoint_dir is not None:
        with (run.checkpoint_dir.parent.parent / "after").open("a") as file:
            file.write("after the loop\n")


def _one_thread(_: int) -> None:
    torch.set_num_threads(1)


def demand(config: Config, machine: Machine) -> Demand:
    workers = config.num_workers
    return Demand(workers=workers, burst=max(2 * workers, 1))


planted = Trainable(
    train, Config, reports=[maximize("val_acc")], demand=demand, name="planted",
    preload=("torch", "torch._dynamo"),
)  # fmt: skip

SWEEP = Sweep(planted, question="What is it bound by?", space=Config())

FILE = Path(__file__)
