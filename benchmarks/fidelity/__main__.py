"""Spread of the runs of one config, alone and with a neighbour, ours and plain Ray Tune's.

    python -m benchmarks.fidelity lenet graphsage

The same trainable with the same cores a trial, every run in a fresh process, interleaved with
runs of another config; rounds with one trial at a time and with two take turns, ours and
theirs; with ``--inline`` ours without Ray too. A neighbour's effect is the mean of the rounds'
ratios with its 95 % interval: rounds are short, so that what the host does over minutes is in both
of a ratio's sides. With ``--interleaved`` there are as many rounds more in which the runs share
their cores in time slices, without a neighbour, so that the host is the same for all of a round.
They are no more than a sweep compares: stopped processes by the dozen, with their memory, are
work for the kernel that a sweep does not have. Prints a markdown table; the exit code is 1 where
ours differ by more than they may, interleaved if that was asked for.
"""

from __future__ import annotations

import json
import math
import statistics
import sys
import tempfile
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from scipy import stats

from benchmarks.fidelity.host_speed import HOST_SPEED, SLOPE, at_equal_host_speed
from benchmarks.peers.repeated_ray import run_sweep
from benchmarks.side_by_side import ROOT, environment_lines, output_of
from orchestrator.arguments import Parser

SPEED = "metrics.samples_per_s"
MOST = 0.03
"""Our spread of all runs, and our neighbour's effect either way."""
Way = tuple[str, int, str]
"""Its name, the trials at a time and the executor."""
WAYS: Sequence[Way] = (("isolated", 1, "ray"), ("beside", 2, "ray"))
"""Ours: what a round has."""
INLINE = ("inline", 1, "inline")
"""What it has with ``--inline`` besides."""
HEADER = (
    "| trainable | measured by | runs | spread alone | spread of all | neighbour's effect |\n"
    "| --- | --- | --- | --- | --- | --- |"
)


@dataclass
class Rates:
    """Samples a second of one config's runs, a list a round, alone and with a neighbour."""

    isolated: list[list[float]] = field(default_factory=list)
    beside: list[list[float]] = field(default_factory=list)

    def row(self, trainable: str, by: str) -> str:
        """A row of the table; the spread is the coefficient of variation."""
        effect = ""
        if self.beside:
            low, high = self.interval
            effect = f"{self.effect:+.1%} ({low:+.1%} to {high:+.1%})"
        return (
            f"| {trainable} | {by} | {len(self.every)} | {_spread(_flat(self.isolated)):.1%} | "
            f"{_spread(self.every):.1%} | {effect} |"
        )

    @property
    def every(self) -> list[float]:
        """Of all runs."""
        return _flat([*self.isolated, *self.beside])

    @property
    def effect(self) -> float:
        """Change of the rate by a neighbour, as a share of that alone: mean over rounds."""
        return math.expm1(statistics.mean(self._logs))

    @property
    def interval(self) -> tuple[float, float]:
        """95 % interval of the effect, by Student's t over rounds."""
        logs = self._logs
        if len(logs) < 2:
            return math.nan, math.nan
        error = statistics.stdev(logs) / math.sqrt(len(logs))
        half = float(stats.t.ppf(0.975, len(logs) - 1)) * error
        mean = statistics.mean(logs)
        return math.expm1(mean - half), math.expm1(mean + half)

    @property
    def _logs(self) -> list[float]:
        means = zip(
            map(statistics.mean, self.beside), map(statistics.mean, self.isolated), strict=True
        )
        return [math.log(beside / isolated) for beside, isolated in means]

    @property
    def are_alike(self) -> bool:
        """Return True if they differ by no more than they may, a neighbour or none."""
        return _spread(self.every) <= MOST and (not self.beside or abs(self.effect) <= MOST)


def _flat(rounds: Sequence[Sequence[float]]) -> list[float]:
    return [rate for of_round in rounds for rate in of_round]


def _spread(rates: Sequence[float]) -> float:
    return statistics.stdev(rates) / statistics.mean(rates)


def _ours(name: str, folder: Path, repeats: int, concurrent: int, executor: str) -> pd.DataFrame:
    options = ["--repeats", str(repeats), "--executor", executor]
    if executor == "ray":
        options += ["--max-concurrent", str(concurrent)]
    return _looked_at(name, folder, options)


def _interleaved(name: str, folder: Path, rounds: int, runs: int) -> Rates:
    """Return the rates of sweeps whose runs are interleaved, a sweep a round."""
    rates = Rates()
    for _ in range(rounds):
        trials = _looked_at(f"{name}_interleaved", folder, ["--trials", str(runs)])
        interleaved = trials[trials["tags.interleaved"] == "true"]
        assert len(interleaved) == runs, f"only {len(interleaved)} of {runs} runs were interleaved"
        rates.isolated.append(list(interleaved[SPEED]))
    return rates


def _looked_at(name: str, folder: Path, options: Sequence[str]) -> pd.DataFrame:
    """The baseline's rows of a sweep of this folder."""
    out = Path(tempfile.mkdtemp(dir=folder)) / "run"
    file = ROOT / "benchmarks" / "fidelity" / f"{name}.py"
    command: list[str | Path] = [sys.executable, "-m", "orchestrator", file, *options]
    command += ["--no-mlflow", "--out", out]
    output_of(command, folder)
    trials = pd.read_parquet(out / "trials.parquet")
    baseline: Any = run_sweep(f"benchmarks.fidelity.{name}").baseline
    looked_at: pd.DataFrame = trials[trials["params.batch_size"] == baseline.batch_size]
    return looked_at


def _theirs(name: str, folder: Path, repeats: int, concurrent: int) -> list[float]:
    out = tempfile.mkdtemp(dir=folder)
    command = [
        sys.executable, "-m", "benchmarks.peers.repeated_ray", f"benchmarks.fidelity.{name}",
        "--repeats", str(repeats), "--max-concurrent", str(concurrent), "--out", out,
    ]  # fmt: skip
    rates: list[float] = json.loads(output_of(command, folder).splitlines()[-1])
    return rates


def _compared(
    name: str, folder: Path, ways: Sequence[Way], rounds: int, repeats: int, *, interleaved: bool
) -> bool:
    """Prints a trainable's rows; returns whether ours are alike."""
    theirs, parts = Rates(), []
    for number in range(rounds):
        of_round = []
        for way, concurrent, executor in ways:
            part = _ours(name, folder, repeats, concurrent, executor)
            of_round.append(part.assign(way=way, round=number))
        parts += of_round
        theirs.isolated.append(_theirs(name, folder, repeats, 1))
        theirs.beside.append(_theirs(name, folder, repeats, 2))
    trials = pd.concat(parts, ignore_index=True)
    ours, inline = _rates(trials, trials[SPEED])
    equal, inline_equal = _rates(trials, at_equal_host_speed(trials, SPEED))
    print(ours.row(name, "ours"))
    print(equal.row(name, "ours, at equal host speed"))
    print(theirs.row(name, "plain Ray Tune"))
    if inline.isolated:
        print(inline.row(name, "ours, inline executor"))
        print(inline_equal.row(name, "the same at equal host speed"))
        over_ray = (
            f"{_ratio(inline, ours):.3f}, at equal host speed {_ratio(inline_equal, equal):.3f}"
        )
        print(f"| {name} | inline over Ray: {over_ray} | | | | |")
    slope, spread = trials[SLOPE].median(), np.log(trials[HOST_SPEED]).std()
    print(
        f"| {name} | spread of the host's speed {spread:.1%}, of which a trial's follows "
        f"{slope:.2f} | | | | |",
        flush=True,
    )
    if not interleaved:
        return ours.are_alike
    rates = _interleaved(name, folder, rounds, 2 * repeats)
    print(rates.row(name, "ours, interleaved"), flush=True)
    return rates.are_alike


def _rates(trials: pd.DataFrame, speed: pd.Series[Any]) -> tuple[Rates, Rates]:
    """Through Ray, and inline."""

    def of(way: str) -> list[list[float]]:
        rows = trials[trials["way"] == way]
        return [list(speed[part.index]) for _, part in rows.groupby("round")]

    return Rates(isolated=of("isolated"), beside=of("beside")), Rates(isolated=of("inline"))


def _ratio(rates: Rates, over: Rates) -> float:
    """Of the medians alone."""
    return statistics.median(_flat(rates.isolated)) / statistics.median(_flat(over.isolated))


def main(arguments: Sequence[str] | None = None) -> int:
    """Runs it and prints the table; returns 1 where ours differ by more than they may."""
    parser = Parser(description=__doc__.partition("\n")[0])
    parser.add_argument("names", nargs="+", choices=["lenet", "graphsage"])
    parser.add_argument("--rounds", type=int, default=5, help="of each way, in turn")
    parser.add_argument("--repeats", type=int, default=2, help="runs of each config in a round")
    parser.add_argument("--inline", action="store_true", help="runs without Ray in each round too")
    parser.add_argument("--interleaved", action="store_true", help="as many rounds more like that")
    options = parser.parse_args(arguments)
    ways = [*WAYS, *([INLINE] if options.inline else [])]
    print("\n".join([*environment_lines("torch", "dgl", "ray"), "", HEADER]), flush=True)
    with tempfile.TemporaryDirectory(prefix="fidelity-") as folder:
        alike = [
            _compared(
                name,
                Path(folder),
                ways,
                options.rounds,
                options.repeats,
                interleaved=options.interleaved,
            )
            for name in options.names
        ]
    return 0 if all(alike) else 1


if __name__ == "__main__":
    sys.exit(main())
