"""LeNet-5's data paths against each other, and the fastest against a bare loop over tensors.

    python -m benchmarks.trainables lenet --data-root DIR

A rate is images over the time of the same steps of the first epoch, fetching included, the first
steps left out. Needs MNIST under the data root, or under $SWEEP_DATA.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import partial
from pathlib import Path
from typing import Final, TypeVar

from benchmarks.harness import in_fresh_process, in_rounds, printed
from benchmarks.trainables.training import bind, compared, trained, tuned_environment
from orchestrator.arguments import Parser
from orchestrator.data import DataFolders
from orchestrator.errors import DataError
from orchestrator.measurement.run import Run
from orchestrator.trial import Budget
from trainables.data.sets.mnist import MNIST

B = TypeVar("B")

BARE: Final = "bare"
KINDS: Final = ("per_sample", "batched", "resident", BARE)
COMPARED: Final = (
    ("batched", "per_sample", 1.0),
    ("resident", "batched", 1.0),
    ("resident", "per_sample", 1.9),
    ("resident", BARE, 0.95),
)
"""Ours, its peer, and the least ratio."""
WARM_UP: Final = 40
"""Steps that are not timed."""
TIMED: Final = 160
"""Timed steps; all of them within an epoch."""


def main(arguments: Sequence[str] | None = None) -> int:
    """Run all kinds in turn and print the table; return 1 where a ratio is missed."""
    parser = Parser(prog="python -m benchmarks.trainables lenet", description=__doc__)
    parser.add_argument("--data-root", type=Path, help="where MNIST is")
    parser.add_argument("--rounds", type=int, default=5, help="runs of each kind")
    parser.add_argument("--batch-size", type=int, default=256)
    options = parser.parse_args(arguments)
    try:
        data = MNIST.prepare(DataFolders.default(options.data_root))
    except DataError as error:
        parser.error(str(error))

    def run(kind: str) -> float:
        given = (kind, str(data.path), options.batch_size)
        return float(in_fresh_process(rate, *given, env=tuned_environment()))

    rates = in_rounds(KINDS, run, rounds=options.rounds)
    return printed(compared(rates, COMPARED, "images/s"), "torch", "torchvision")


def rate(kind: str, data: str, batch_size: int) -> float:
    """Return the images a second of one kind."""
    run = bare_steps if kind == BARE else partial(our_steps, kind)
    ends_s = run(Path(data), batch_size)
    assert len(ends_s) >= WARM_UP + TIMED, "an epoch is too short for so many steps"
    return batch_size * TIMED / (ends_s[WARM_UP + TIMED - 1] - ends_s[WARM_UP - 1])


def our_steps(data_path: str, data: Path, batch_size: int) -> list[float]:
    """Train by one of the data paths; return the end of each step."""
    from trainables.lenet import LeNetConfig, lenet

    ends_s: list[float] = []

    class Marking(Run):
        def batches(self, loader: Iterable[B], *, samples: Callable[[B], int]) -> Iterator[B]:
            for batch in super().batches(loader, samples=samples):
                yield batch
                ends_s.append(time.perf_counter())

    config = LeNetConfig(
        data_path=data_path,  # type: ignore[arg-type] # one of KINDS
        batch_size=batch_size,
        eval_every=2,
    )
    budget = Budget(epochs=1, steps=WARM_UP + TIMED)
    trained(lenet, config, data, budget, run_of=Marking)
    return ends_s


def bare_steps(data: Path, batch_size: int) -> list[float]:
    """Train by a bare loop over images that are in memory; return the end of each step."""
    import torch
    from torch import nn

    from trainables.data.formats.image_data import ImageData

    bind()
    torch.manual_seed(0)
    opened = ImageData.open(data)
    train = opened.split().train
    images = ((opened.train_images[train].float() / 255 - 0.1307) / 0.3081).unsqueeze(1)
    labels = opened.train_labels[train]
    network = nn.Sequential(
        nn.Conv2d(1, 6, 3), nn.ReLU(), nn.MaxPool2d(2),
        nn.Conv2d(6, 16, 3), nn.ReLU(), nn.MaxPool2d(2), nn.Flatten(),
        nn.Linear(400, 120), nn.ReLU(), nn.Linear(120, 84), nn.ReLU(), nn.Linear(84, 10),
    )  # fmt: skip
    optimizer = torch.optim.SGD(network.parameters(), lr=1e-3, momentum=0.9, fused=True)
    ends_s = []
    for batch in torch.randperm(len(labels)).split(batch_size)[: WARM_UP + TIMED]:
        loss = nn.functional.cross_entropy(network(images[batch]), labels[batch])
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        ends_s.append(time.perf_counter())
    return ends_s
