"""Differences of two equal configs from round to round, interleaved and one after another.

    python -m benchmarks.confirming lenet graphsage

The confirm stage compares two configs in rounds, each in a fresh process. Here the two differ in
the learning rate only, so that their true ratio is 1. Rounds in which they are interleaved on the
same cores, as in the confirm stage, alternate in one sweep with rounds in which one runs after the
other, as in a loop written by hand. Prints a markdown table: the spread of the rounds'
ratios, their mean with its 95 % interval, half the width of an interval over three rounds, and
the seconds that the runs of a round took together.
"""

from __future__ import annotations

import math
import statistics
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from scipy import stats

from benchmarks.confirming.both_ways import RUNS
from benchmarks.peers.repeated_ray import run_sweep
from benchmarks.side_by_side import ROOT, environment_lines, output_of
from orchestrator.arguments import Parser, whole_number

SPEED = "metrics.samples_per_s"
WAYS = ("interleaved", "one after another")
HEADER = (
    "| trainable | runs of a round | pairs | spread of ratios | mean | over 3 pairs | took |\n"
    "| --- | --- | --- | --- | --- | --- | --- |"
)


def _rounds(name: str, folder: Path, rounds: int) -> pd.DataFrame:
    """Return the two configs' speeds and the seconds of each round, one row a round."""
    out = folder / name
    file = ROOT / "benchmarks" / "confirming" / f"{name}.py"
    command = [
        sys.executable, "-m", "orchestrator", str(file),
        "--trials", str(RUNS * rounds), "--no-mlflow", "--out", str(out),
    ]  # fmt: skip
    output_of(command, folder)
    trials = pd.read_parquet(out / "trials.parquet")
    baseline: Any = run_sweep(f"benchmarks.confirming.{name}").baseline
    logs = np.log(trials[SPEED]).where(trials["params.lr"] == baseline.lr, -np.log(trials[SPEED]))
    by_round = trials.assign(log_ratio=logs).groupby("repeat")
    return pd.DataFrame(
        {
            "log_ratio": by_round["log_ratio"].sum(),
            "seconds": by_round["wall_s"].sum(),
            "interleaved": by_round["tags.interleaved"].first() == "true",
        }
    )


def _row(name: str, way: str, rounds: pd.DataFrame) -> str:
    logs = rounds["log_ratio"]
    spread = float(logs.std())
    mean = float(logs.mean())
    half = float(stats.t.ppf(0.975, len(logs) - 1)) * spread / math.sqrt(len(logs))
    low, high = math.exp(mean - half), math.exp(mean + half)
    over_three = float(stats.t.ppf(0.975, 2)) * spread / math.sqrt(3)
    return (
        f"| {name} | {way} | {len(logs)} | {spread:.1%} | "
        f"{math.exp(mean):.3f} ({low:.3f} to {high:.3f}) | ±{math.expm1(over_three):.1%} | "
        f"{statistics.median(rounds['seconds']):.0f} s |"
    )


def main(arguments: Sequence[str] | None = None) -> None:
    """Print the table."""
    parser = Parser(description=__doc__.partition("\n")[0])
    parser.add_argument("names", nargs="+", choices=["lenet", "graphsage"])
    parser.add_argument(
        "--rounds", type=whole_number(2), default=12, help="of each way, in alternation"
    )
    options = parser.parse_args(arguments)
    print("\n".join([*environment_lines("torch", "dgl", "ray"), "", HEADER]), flush=True)
    with tempfile.TemporaryDirectory(prefix="confirming-") as folder:
        for name in options.names:
            rounds = _rounds(name, Path(folder), options.rounds)
            for way, were_interleaved in zip(WAYS, (True, False), strict=True):
                print(
                    _row(name, way, rounds[rounds["interleaved"] == were_interleaved]), flush=True
                )


if __name__ == "__main__":
    main()
