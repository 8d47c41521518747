"""How far runs of one config differ, alone and with a neighbour, ours and plain Ray Tune's.

    python -m benchmarks.fidelity lenet graphsage

The same trainable with the same cores a trial, every run in a fresh process, interleaved with
runs of another config; rounds with one trial at a time and with two take turns, ours and
theirs. Prints a markdown table; the exit code is 1 where ours differ by more than they may.
"""

from __future__ import annotations

import argparse
import json
import os
import statistics
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from analysis.host_speed import HOST_SPEED, SLOPE, at_equal_host_speed
from benchmarks.side_by_side import environment_lines

ROOT = Path(__file__).parents[2]
SPEED = "metrics.samples_per_s"
MOST = 0.03
"""Our spread of all runs, and our neighbour's effect either way."""
HEADER = (
    "| trainable | measured by | runs | spread alone | spread of all | neighbour's effect |\n"
    "| --- | --- | --- | --- | --- | --- |"
)


@dataclass
class Rates:
    """Samples a second of one config's runs, alone on the machine and with a neighbour."""

    alone: list[float] = field(default_factory=list)
    beside: list[float] = field(default_factory=list)

    def row(self, trainable: str, by: str) -> str:
        """A row of the table; the spread is the coefficient of variation."""
        effect = f"{self.effect:+.1%}" if self.beside else ""
        return (
            f"| {trainable} | {by} | {len(self.every)} | {_spread(self.alone):.1%} | "
            f"{_spread(self.every):.1%} | {effect} |"
        )

    @property
    def every(self) -> list[float]:
        """Of all runs."""
        return [*self.alone, *self.beside]

    @property
    def effect(self) -> float:
        """What a neighbour adds to the rate, as a share of that alone."""
        return statistics.median(self.beside) / statistics.median(self.alone) - 1

    @property
    def are_alike(self) -> bool:
        """Whether they differ by no more than they may, a neighbour or none."""
        return _spread(self.every) <= MOST and abs(self.effect) <= MOST


def _spread(rates: Sequence[float]) -> float:
    return statistics.stdev(rates) / statistics.mean(rates)


def _output(command: Sequence[str | Path], folder: Path) -> str:
    done = subprocess.run(
        [str(part) for part in command],
        cwd=folder,
        env={**os.environ, "PYTHONPATH": str(ROOT), "SWEEP_CACHE": str(folder / "cache")},
        capture_output=True,
        text=True,
        stdin=subprocess.DEVNULL,
        check=False,
    )
    if done.returncode:
        raise SystemExit(f"{command} failed:\n{done.stdout[-2000:]}\n{done.stderr[-2000:]}")
    return done.stdout


def _ours(name: str, folder: Path, repeats: int, concurrent: int, executor: str) -> pd.DataFrame:
    out = Path(tempfile.mkdtemp(dir=folder)) / "run"
    command: list[str | Path] = [
        sys.executable, "-m", "orchestrator", ROOT / "benchmarks" / "fidelity" / f"{name}.py",
        "--repeats", str(repeats), "--executor", executor, "--no-mlflow", "--out", out,
    ]  # fmt: skip
    if executor == "ray":
        command += ["--max-concurrent", str(concurrent)]
    _output(command, folder)
    trials = pd.read_parquet(out / "trials.parquet")
    largest: pd.DataFrame = trials[trials["params.batch_size"] == trials["params.batch_size"].max()]
    return largest


def _theirs(name: str, folder: Path, repeats: int, concurrent: int) -> list[float]:
    out = tempfile.mkdtemp(dir=folder)
    command = [
        sys.executable, "-m", "benchmarks.peers.repeated_ray", f"benchmarks.fidelity.{name}",
        "--repeats", str(repeats), "--max-concurrent", str(concurrent), "--out", out,
    ]  # fmt: skip
    rates: list[float] = json.loads(_output(command, folder).splitlines()[-1])
    return rates


def _compared(name: str, folder: Path, rounds: int, repeats: int) -> bool:
    """Prints a trainable's rows; returns whether ours are alike."""
    theirs, parts = Rates(), []
    for _ in range(rounds):
        parts.append(_ours(name, folder, repeats, 1, "ray").assign(way="alone"))
        theirs.alone += _theirs(name, folder, repeats, 1)
        parts.append(_ours(name, folder, repeats, 2, "ray").assign(way="beside"))
        theirs.beside += _theirs(name, folder, repeats, 2)
        parts.append(_ours(name, folder, repeats, 1, "inline").assign(way="inline"))
    trials = pd.concat(parts, ignore_index=True)
    ours, inline = _rates(trials, trials[SPEED])
    equal, inline_equal = _rates(trials, at_equal_host_speed(trials, SPEED))
    print(ours.row(name, "ours"))
    print(equal.row(name, "ours, at equal host speed"))
    print(theirs.row(name, "plain Ray Tune"))
    print(inline.row(name, "ours, inline executor"))
    print(inline_equal.row(name, "the same at equal host speed"))
    ratio = statistics.median(inline.alone) / statistics.median(ours.alone)
    equal_ratio = statistics.median(inline_equal.alone) / statistics.median(equal.alone)
    slope, spread = trials[SLOPE].median(), np.log(trials[HOST_SPEED]).std()
    print(
        f"| {name} | inline over Ray: {ratio:.3f}, at equal host speed {equal_ratio:.3f} | | | | |"
    )
    print(
        f"| {name} | spread of the host's speed {spread:.1%}, of which a trial's follows "
        f"{slope:.2f} | | | | |",
        flush=True,
    )
    return ours.are_alike


def _rates(trials: pd.DataFrame, speed: pd.Series[Any]) -> tuple[Rates, Rates]:
    """Through Ray, and inline."""
    way = trials["way"]
    return (
        Rates(alone=list(speed[way == "alone"]), beside=list(speed[way == "beside"])),
        Rates(alone=list(speed[way == "inline"])),
    )


def main(arguments: Sequence[str] | None = None) -> int:
    """Runs it and prints the table; returns 1 where ours differ by more than they may."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("names", nargs="+", choices=["lenet", "graphsage"])
    parser.add_argument("--rounds", type=int, default=2, help="of each way, in turn")
    parser.add_argument("--repeats", type=int, default=5, help="runs of each config in a round")
    options = parser.parse_args(arguments)
    print("\n".join([*environment_lines("torch", "dgl", "ray"), "", HEADER]), flush=True)
    with tempfile.TemporaryDirectory(prefix="fidelity-") as folder:
        alike = [
            _compared(name, Path(folder), options.rounds, options.repeats) for name in options.names
        ]
    return 0 if all(alike) else 1


if __name__ == "__main__":
    sys.exit(main())
