"""Time of each sweep on its embedded data, from the command to its last line.

    python -m benchmarks.sweep_times [--runs 1] [SWEEP ...]

Each is the command that a user types, MLflow included, in an empty folder whose cache is empty
too: generating data is part of the time. Beside it stands how far the speeds were off that a
report composes from the ceilings, where a config that ran was predicted from the others. Prints
markdown; the exit code is 1 where a sweep takes longer than three minutes in the median.
"""

from __future__ import annotations

import argparse
import os
import statistics
import sys
import tempfile
from collections import Counter
from collections.abc import Sequence
from pathlib import Path

import pandas as pd

from benchmarks.side_by_side import environment_lines, timed
from orchestrator.analysis.bottlenecks.prediction import predictions
from orchestrator.analysis.recommendation.recommend import recommend
from orchestrator.analysis.report.view import view_of
from orchestrator.analysis.tables.load import load_run
from orchestrator.arguments import Parser

ROOT = Path(__file__).parents[1]
SWEEPS = tuple(sorted(path.stem for path in (ROOT / "sweeps").glob("[!_]*.py")))
LIMIT_S = 180


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the sweeps and print the table; return 1 where one takes too long."""
    parser = Parser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("sweeps", nargs="*", metavar="SWEEP", help=f"of {', '.join(SWEEPS)}")
    parser.add_argument("--runs", type=int, default=1, help="of each sweep")
    options = parser.parse_args(arguments)
    if unknown := set(options.sweeps) - set(SWEEPS):
        parser.error(f"no sweep is called {', '.join(sorted(unknown))}; there are {SWEEPS}")
    print("\n".join(environment_lines("torch", "dgl", "ray", "mlflow")))
    print(
        "\n| sweep | seconds | trials | states | median trial, s | data | error of predictions |\n"
        "| --- | --- | --- | --- | --- | --- | --- |",
        flush=True,
    )
    medians = [_row(name, options.runs) for name in options.sweeps or SWEEPS]
    return 0 if max(medians) <= LIMIT_S else 1


def _row(name: str, num_runs: int) -> float:
    """Print a row of the table; return the median of the sweep's times."""
    took, rows, error = [], pd.DataFrame(), ""
    for _ in range(num_runs):
        with tempfile.TemporaryDirectory(prefix="sweep-times-") as folder:
            took.append(_seconds(name, Path(folder)))
            rows = pd.read_parquet(Path(folder, "run", "trials.parquet"))
            error = _error_of_predictions(Path(folder, "run"))
    states = ", ".join(f"{count} {state}" for state, count in Counter(rows["state"]).items())
    seconds = ", ".join(f"{each:.0f}" for each in took)
    data, trial_s = ", ".join(rows["data"].unique()), rows["wall_s"].median()
    print(f"| {name} | {seconds} | {len(rows)} | {states} | {trial_s:.1f} | {data} | {error} |")
    sys.stdout.flush()
    return statistics.median(took)


def _error_of_predictions(run: Path) -> str:
    """``5 % (7 configs)``, or why nothing is known of it."""
    tables = load_run(run)
    view = view_of(tables, recommend(tables))
    found = predictions(view.configs, tables.sweep)
    if found is None or found.median_error is None:
        return "no ceilings" if found is None else "nothing to check by"
    return f"{100 * found.median_error:.0f} % ({found.num_checked} configs)"


def _seconds(name: str, folder: Path) -> float:
    file = ROOT / "sweeps" / f"{name}.py"
    env = {**os.environ, "PYTHONPATH": str(ROOT), "SWEEP_CACHE": str(folder / "cache")}
    env.pop("SWEEP_DATA", None)  # the real sets may be there
    command: list[str | Path] = [sys.executable, "-m", "orchestrator", file, "--out", "run"]
    return timed(command, cwd=folder, env=env)


if __name__ == "__main__":
    sys.exit(main())
