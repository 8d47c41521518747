"""Cost of a trial beyond its training: ours against plain Ray Tune with MLflow.

    python -m benchmarks.orchestration [--pairs 3]

Both run 32 trials of 5 reports each that import torch and do nothing, every trial in a
fresh process, on cores of the whole machine, one core a trial, logged to MLflow on sqlite.
The time is the whole command's, from its start to its end, over the number of trials. A further
trial is one beyond the first ones: for ours from 32 to 96 trials, for the peer from 1 to 32. The
exit code is 1 if ours takes more than its share.
"""

from __future__ import annotations

import os
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path

from benchmarks.harness import ROOT, Comparison, Pairs, in_turn, printed, timed
from benchmarks.noop_sweep import NUM_TRIALS
from orchestrator.arguments import Parser

MOST = 0.07
"""Our wall time a trial over the peer's, the whole command."""
MOST_FURTHER = 0.02
"""The same of a further trial."""
MANY = 3 * NUM_TRIALS


def ours(folder: Path, num_trials: int) -> float:
    """Return the seconds of a sweep of so many trials."""
    out = Path(tempfile.mkdtemp(dir=folder))
    sweep = ROOT / "benchmarks" / "noop_sweep.py"
    command: list[str | Path] = [
        sys.executable, "-m", "orchestrator", sweep, "--out", out / "run",
        "--tracking-uri", f"sqlite:///{out}/mlflow.db",
    ]  # fmt: skip
    return timed(command, cwd=folder, env={**_environment(), "NOOP_TRIALS": str(num_trials)})


def peer(folder: Path, num_trials: int) -> float:
    """Return the seconds of Ray Tune for so many trials."""
    out = tempfile.mkdtemp(dir=folder)
    words = ["--out", out, "--trials", str(num_trials)]
    command = [sys.executable, "-m", "benchmarks.peers.noop_ray", *words]
    return timed(command, cwd=folder, env=_environment())


def _environment() -> dict[str, str]:
    return {**os.environ, "PYTHONPATH": str(ROOT)}


def comparisons(whole: Pairs, others: Pairs) -> list[Comparison]:
    """Return the rows of the table.

    Args:
        whole: Seconds of :data:`NUM_TRIALS` trials of both sides.
        others: Seconds of :data:`MANY` trials of ours, and of one of the peer's.
    """
    each = Pairs(
        ours=[s / NUM_TRIALS for s in whole.ours], peer=[s / NUM_TRIALS for s in whole.peer]
    )
    further = Pairs(
        ours=[
            (many - s) / (MANY - NUM_TRIALS)
            for many, s in zip(others.ours, whole.ours, strict=True)
        ],
        peer=[(s - one) / (NUM_TRIALS - 1) for one, s in zip(others.peer, whole.peer, strict=True)],
    )
    what = "wall time a trial, whole command"
    return [
        Comparison(what=what, unit="s", pairs=each, at_most=MOST),
        Comparison(what="a further trial", unit="s", pairs=further, at_most=MOST_FURTHER),
        Comparison(what=f"ours with {MANY} trials, Ray Tune with one", unit="s", pairs=others),
    ]


def main(arguments: Sequence[str] | None = None) -> int:
    """Run both in turn and print a table; return 1 where a ratio is missed."""
    parser = Parser(prog="python -m benchmarks.orchestration", description=__doc__)
    parser.add_argument("--pairs", type=int, default=3, help="runs of each; default %(default)s")
    options = parser.parse_args(arguments)
    with tempfile.TemporaryDirectory() as scratch:
        folder = Path(scratch)
        whole = in_turn(
            lambda _: ours(folder, NUM_TRIALS),
            lambda _: peer(folder, NUM_TRIALS),
            pairs=options.pairs,
        )
        others = in_turn(
            lambda _: ours(folder, MANY), lambda _: peer(folder, 1), pairs=options.pairs
        )
    return printed(comparisons(whole, others), "ray", "mlflow", "torch")


if __name__ == "__main__":
    sys.exit(main())
