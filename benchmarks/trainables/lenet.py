"""LeNet-5's data paths beside each other, and the fastest beside a bare loop over tensors.

    python -m benchmarks.trainables.lenet --data-root DIR

Each run is a fresh process with the same cores, threads, allocator and optimizer, fused; the
kinds of run take turns. A rate is images over the time of the same steps of the first epoch,
fetching included, the first steps left out. Needs MNIST under the data root, or under
$SWEEP_DATA. Prints markdown.
"""

from __future__ import annotations

import argparse
import json
import os
import random
import statistics
import subprocess
import sys
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TypeVar

from benchmarks.harness import HEADER, Pairs, environment_lines
from orchestrator.analysis.statistics.intervals import log_interval
from orchestrator.arguments import Parser
from orchestrator.data import DataFolders, PreparedData
from orchestrator.errors import DataError
from orchestrator.system.allocators import allocator_environment
from trainables.data.sets.mnist import MNIST

B = TypeVar("B")

PATHS = ("per_sample", "batched", "resident")
BARE = "bare"
COMPARED = (
    ("batched", "per_sample", 1.0),
    ("resident", "batched", 1.0),
    ("resident", "per_sample", 1.9),
    ("resident", BARE, 0.95),
)
"""Ours, what it is held against, and the ratio to reach."""
WARM_UP = 40
"""Steps that are not timed."""
TIMED = 160
"""Steps that are; all of them within an epoch."""


@dataclass(frozen=True, kw_only=True)
class Work:
    """Trainable, config and data of one process."""

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


def main(arguments: Sequence[str] | None = None) -> int:
    """Run everything in turn and print the tables; return 1 where a ratio is missed."""
    parser = Parser(description=__doc__, formatter_class=_Plain)
    parser.add_argument("--data-root", type=Path, help="where MNIST is")
    parser.add_argument("--rounds", type=int, default=5, help="runs of each kind")
    kinds = (*PATHS, BARE)
    parser.add_argument("--kinds", nargs="+", choices=kinds, default=kinds, help="what is run")
    parser.add_argument("--batch-size", type=int, default=256)
    parser.add_argument("--cores", type=int, default=2)
    parser.add_argument("--allocator", default="tuned", choices=("default", "tuned", "jemalloc"))
    parser.add_argument("--work", help=argparse.SUPPRESS)
    options = parser.parse_args(arguments)
    if options.work is not None:
        given = json.loads(options.work)
        print(_rate(Work(**{**given, "cores": tuple(given["cores"])})))
        return 0
    try:
        data = MNIST.prepare(DataFolders.default(options.data_root))
    except DataError as error:
        parser.error(str(error))
    cores = tuple(sorted(os.sched_getaffinity(0)))[: options.cores]
    rates = _rates(data, cores, options)
    print("\n".join(_report(data, rates, options)))
    reached = [statistics.median(pairs.ratios) >= target for _, pairs, target in _compared(rates)]
    return 0 if all(reached) else 1


class _Plain(argparse.ArgumentDefaultsHelpFormatter, argparse.RawDescriptionHelpFormatter):
    pass


def _rates(
    data: PreparedData, cores: tuple[int, ...], options: argparse.Namespace
) -> dict[str, list[float]]:
    rates: dict[str, list[float]] = {kind: [] for kind in options.kinds}
    for index in range(options.rounds):
        for kind in random.Random(index).sample(list(rates), len(rates)):
            work = Work(kind=kind, data=str(data.path), batch_size=options.batch_size, cores=cores)
            rates[kind].append(work.rate_in_fresh_process(options.allocator))
            print(f"round {index}, {kind}: {rates[kind][-1]:.0f} images/s", file=sys.stderr)
    return rates


def _compared(rates: Mapping[str, Sequence[float]]) -> Iterator[tuple[str, Pairs, float]]:
    """Yield what is compared: its name, its pairs and the ratio to reach."""
    for ours, peer, target in COMPARED:
        if ours in rates and peer in rates:
            yield f"{ours} to {peer}", Pairs(ours=rates[ours], peer=rates[peer]), target


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
    for what, pairs, target in _compared(rates):
        yield pairs.row(f"{what} (to reach: {target:g})", "images/s")
    yield "\nGeometric means of the ratios, with 95 % intervals:\n"
    for what, pairs, _ in _compared(rates):
        mean = log_interval(pairs.ratios)
        yield f"- {what}: {mean.centre:.3f} ({mean.low:.3f} to {mean.high:.3f})"
    yield "\nAll rates, images/s:\n"
    for kind, each in rates.items():
        yield f"- {kind}: " + ", ".join(f"{rate:.0f}" for rate in each)


# -- what a fresh process does


def _rate(work: Work) -> float:
    os.sched_setaffinity(0, work.cores)
    return _bare_rate(work) if work.kind == BARE else _trainable_rate(work)


def _rate_of(work: Work, ends_s: Sequence[float]) -> float:
    """Images a second, from when each step ended."""
    assert len(ends_s) >= WARM_UP + TIMED, "an epoch is too short for so many steps"
    return work.batch_size * TIMED / (ends_s[WARM_UP + TIMED - 1] - ends_s[WARM_UP - 1])


def _trainable_rate(work: Work) -> float:
    from orchestrator.measurement.run import Context, Run
    from orchestrator.trial import Budget, Report
    from trainables.lenet import LeNetConfig, lenet

    class Nowhere:
        def report(self, report: Report) -> bool:
            return False

    ends_s: list[float] = []

    class Marking(Run):
        def batches(self, loader: Iterable[B], *, samples: Callable[[B], int]) -> Iterator[B]:
            for batch in super().batches(loader, samples=samples):
                yield batch
                ends_s.append(time.perf_counter())

    config = LeNetConfig(
        data_path=work.kind,  # type: ignore[arg-type]
        batch_size=work.batch_size,
        eval_every=2,
    )
    where = Context(
        seed=0,
        budget=Budget(epochs=1, steps=WARM_UP + TIMED),
        num_cores=len(work.cores),
        data=PreparedData(name="", path=Path(work.data), fingerprint=""),
    )
    lenet.train(config, Marking(where, Nowhere()))
    return _rate_of(work, ends_s)


def _bare_rate(work: Work) -> float:
    """Return the rate of a bare loop over images that are in memory already."""
    import torch
    from torch import nn

    from trainables.data.formats.image_data import ImageData

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
    optimizer = torch.optim.SGD(network.parameters(), lr=1e-3, momentum=0.9, fused=True)
    ends_s = []
    for batch in torch.randperm(len(labels)).split(work.batch_size)[: WARM_UP + TIMED]:
        loss = nn.functional.cross_entropy(network(images[batch]), labels[batch])
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        ends_s.append(time.perf_counter())
    return _rate_of(work, ends_s)


if __name__ == "__main__":
    sys.exit(main())
