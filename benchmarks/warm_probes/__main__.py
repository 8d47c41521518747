"""Time of a probe beside its steps, and its speed in a process forked from a warm server.

    python -m benchmarks.warm_probes [--data-root DIR] [--pairs 8]

Prints a page for ``benchmarks/results``. The exit code is 1 where a probe takes more than half a
second beside its steps, or a warm one's speed is more than 1 % off a fresh one's.
"""

from __future__ import annotations

import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path

from benchmarks.side_by_side import environment_lines
from benchmarks.warm_probes.overhead import beside_steps, row
from benchmarks.warm_probes.speeds import Subject, compare
from orchestrator.arguments import Parser
from orchestrator.data import DataFolders, find_data
from trainables.graphsage import SageConfig, graphsage
from trainables.lenet import LeNetConfig, lenet

MOST_S = 0.5
"""Seconds beside its steps that a probe may take."""
MARGIN = 0.01
"""Difference between the speeds of warm and fresh probes, as a fraction."""


def main(arguments: Sequence[str] | None = None) -> int:
    """Run both parts and print the page; return 1 where a figure is missed."""
    parser = Parser(description=__doc__)
    parser.add_argument("--data-root", type=Path, help="folder with MNIST; else the digits")
    parser.add_argument("--pairs", type=int, default=8, help="pairs of a warm and a fresh probe")
    options = parser.parse_args(arguments)
    lines = environment_lines("torch", "ray", "mlflow")
    print(
        "\n".join(["# Probes: seconds beside their steps, and speed in a warm process", "", *lines])
    )
    is_reached = True
    with tempfile.TemporaryDirectory() as folder:
        is_reached &= _print_overhead(Path(folder), options.data_root)
        is_reached &= _print_speeds(subjects(Path(folder), options.data_root), options.pairs)
    return 0 if is_reached else 1


def _print_overhead(folder: Path, root: Path | None) -> bool:
    print("\n| sweep of 20 probes | executor | beside its steps, median | quartiles | probes |")
    print("| --- | --- | --- | --- | --- |")
    data = [] if root is None else ["--data-root", str(root.resolve())]
    is_reached = True
    for name in ("lenet", "graphsage"):
        for executor in ("inline", "ray"):
            seconds = sorted(beside_steps(name, executor, folder, data))
            print(row(name, executor, seconds, MOST_S), flush=True)
            is_reached &= seconds[len(seconds) // 2] <= MOST_S
    return is_reached


def _print_speeds(probed: Sequence[Subject], num_pairs: int) -> bool:
    print("\n| probe | warm | fresh | warm over fresh | 95 % interval | spread of a pair | pairs |")
    print("| --- | --- | --- | --- | --- | --- | --- |")
    is_reached = True
    for subject in probed:
        speeds = compare(subject, num_pairs)
        text = f"{subject.trainable.name}, {subject.data}, {subject.steps} steps"
        print(speeds.row(text, MARGIN), flush=True)
        is_reached &= abs(speeds.mean) <= MARGIN
    return is_reached


def subjects(folder: Path, root: Path | None) -> list[Subject]:
    """Return what is probed, its data prepared under ``folder``."""
    folders = DataFolders(root=root or folder, cache=folder / "cache")
    images = "digits" if root is None else "mnist"
    probed = [
        Subject(
            trainable=lenet,
            config=LeNetConfig(data_path="batched"),
            data=images,
            folders=folders,
            steps=500,
        ),
        Subject(
            trainable=graphsage,
            config=SageConfig(fanouts=(5, 5)),
            data="products-synthetic",
            folders=folders,
            steps=300,
        ),
    ]
    for subject in probed:
        find_data(subject.trainable.data, subject.data).prepare(folders)
    return probed


if __name__ == "__main__":
    sys.exit(main())
