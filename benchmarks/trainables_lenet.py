"""LeNet-5's data paths beside each other, and the fastest beside a bare loop over tensors.

    python -m benchmarks.trainables_lenet --data-root DIR

Each run is a fresh process with the same cores, threads and allocator; the kinds of run take
turns. A rate is images over time in whole epochs, the first one left out, evaluation not
counted. Prints markdown.
"""

from __future__ import annotations

import argparse
import json
import os
import random
import subprocess
import sys
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from benchmarks.side_by_side import HEADER, Pairs, environment_lines
from orchestrator.data import DataFolders, PreparedData
from orchestrator.execution.allocators import allocator_environment
from trainables.data.digits import DIGITS
from trainables.data.mnist import MNIST

PATHS = ("per_sample", "batched", "resident")
BARE = "bare"
COMPARED = (
    ("batched", "per_sample", ""),
    ("resident", "batched", ""),
    ("resident", "per_sample", "1.9"),
    ("resident", BARE, "0.95"),
)
"""Ours, what it is held against, and the ratio to reach."""
STEPS = 440
"""Steps to time, at least: two epochs of MNIST."""


@dataclass(frozen=True, kw_only=True)
class Work:
    """What one process trains, and with what."""

    kind: str
    data: str
    batch_size: int
    cores: tuple[int, ...]

    def rate_in_fresh_process(self, allocator: str) -> float:
        """Images a second."""
        done = subprocess.run(
            [sys.executable, "-m", __spec__.name, "--work", json.dumps(self.__dict__)],
            env=allocator_environment(allocator, os.environ),
            capture_output=True,
            text=True,
            check=False,
        )
        if done.returncode:
            raise RuntimeError(f"{self} failed:\n{done.stderr[-3000:]}")
        return float(done.stdout.splitlines()[-1])


def main() -> None:
    """Reads the arguments, runs everything in turn and prints the tables."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=_Plain)
    parser.add_argument("--data-root", type=Path, help="where MNIST is; without it: digits")
    parser.add_argument("--rounds", type=int, default=5, help="runs of each kind")
    parser.add_argument("--batch-size", type=int, default=256)
    parser.add_argument("--cores", type=int, default=2)
    parser.add_argument("--allocator", default="tuned", choices=("default", "tuned", "jemalloc"))
    parser.add_argument("--work", help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.work is not None:
        given = json.loads(options.work)
        print(_rate(Work(**{**given, "cores": tuple(given["cores"])})))
        return
    data = _data(options.data_root)
    cores = tuple(sorted(os.sched_getaffinity(0)))[: options.cores]
    rates = _rates(data, cores, options)
    print("\n".join(_report(data, rates, options)))


class _Plain(argparse.ArgumentDefaultsHelpFormatter, argparse.RawDescriptionHelpFormatter):
    pass


def _data(root: Path | None) -> PreparedData:
    folders = DataFolders.default(root)
    return (MNIST if MNIST.present(folders) else DIGITS).prepare(folders)


def _rates(
    data: PreparedData, cores: tuple[int, ...], options: argparse.Namespace
) -> dict[str, list[float]]:
    rates: dict[str, list[float]] = {kind: [] for kind in (*PATHS, BARE)}
    for index in range(options.rounds):
        for kind in random.Random(index).sample(list(rates), len(rates)):
            work = Work(kind=kind, data=str(data.path), batch_size=options.batch_size, cores=cores)
            rates[kind].append(work.rate_in_fresh_process(options.allocator))
            print(f"round {index}, {kind}: {rates[kind][-1]:.0f} images/s", file=sys.stderr)
    return rates


def _report(
    data: PreparedData, rates: dict[str, list[float]], options: argparse.Namespace
) -> Iterator[str]:
    yield f"# LeNet-5 on {data.name}: data paths, and a bare loop\n"
    yield from environment_lines("torch", "torchvision")
    yield (
        f"- batch {options.batch_size}, no loader workers, {options.cores} cores, "
        f"allocator {options.allocator}; the peer is the second of the two\n"
    )
    yield HEADER
    for ours, peer, target in COMPARED:
        goal = f" (to reach: {target})" if target else ""
        yield Pairs(ours=rates[ours], peer=rates[peer]).row(f"{ours} to {peer}{goal}", "images/s")
    yield "\nAll rates, images/s:\n"
    for kind, each in rates.items():
        yield f"- {kind}: " + ", ".join(f"{rate:.0f}" for rate in each)


# -- what a fresh process does


def _rate(work: Work) -> float:
    os.sched_setaffinity(0, work.cores)
    return _bare_rate(work) if work.kind == BARE else _trainable_rate(work)


def _epochs(work: Work, num_images: int) -> int:
    """One to warm up, and as many as it takes for :data:`STEPS`."""
    steps = -(-num_images // work.batch_size)
    return 1 + -(-STEPS // steps)


def _trainable_rate(work: Work) -> float:
    from orchestrator.measurement.run import Context, Run
    from orchestrator.trial import Budget, Report
    from trainables.images import image_splits
    from trainables.lenet import LeNetConfig, lenet

    class Nowhere:
        def report(self, report: Report) -> bool:
            return False

    config = LeNetConfig(data_path=work.kind, batch_size=work.batch_size)  # type: ignore[arg-type]
    data = PreparedData(name="", path=Path(work.data), fingerprint="")

    def run(epochs: int) -> Run:
        budget = Budget(epochs=epochs)
        return Run(Context(seed=0, budget=budget, num_cores=len(work.cores), data=data), Nowhere())

    num_images = len(image_splits(run(1), config).train)
    timed = run(_epochs(work, num_images))
    lenet.train(config, timed)
    epochs = timed.recording().epochs[1:]
    return num_images * len(epochs) / sum(epoch.duration_s for epoch in epochs)


def _bare_rate(work: Work) -> float:
    """What anyone would write who has the images in memory already."""
    import torch
    from torch import nn

    from trainables.data.image_data import ImageData

    torch.set_num_threads(len(work.cores))
    torch.manual_seed(0)
    data = ImageData.open(Path(work.data))
    train = data.split().train
    images = ((data.train_images[train].float() / 255 - 0.1307) / 0.3081).unsqueeze(1)
    labels = data.train_labels[train]
    network = nn.Sequential(
        nn.Conv2d(1, 6, 3), nn.ReLU(), nn.MaxPool2d(2),
        nn.Conv2d(6, 16, 3), nn.ReLU(), nn.MaxPool2d(2), nn.Flatten(),
        nn.Linear(400, 120), nn.ReLU(), nn.Linear(120, 84), nn.ReLU(), nn.Linear(84, 10),
    )  # fmt: skip
    optimizer = torch.optim.SGD(network.parameters(), lr=1e-3, momentum=0.9)
    durations_s = []
    for _ in range(_epochs(work, len(labels))):
        began = time.perf_counter()
        for batch in torch.randperm(len(labels)).split(work.batch_size):
            loss = nn.functional.cross_entropy(network(images[batch]), labels[batch])
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
        durations_s.append(time.perf_counter() - began)
    return len(labels) * (len(durations_s) - 1) / sum(durations_s[1:])


if __name__ == "__main__":
    main()
