"""Cost of a trial beyond its training: ours against plain Ray Tune with MLflow.

    python -m benchmarks.orchestration [--pairs 3]

Both run 32 trials of 5 reports each that import torch and do nothing, every trial in a
fresh process, on cores of the whole machine, one core a trial, logged to MLflow on sqlite.
The time is the whole command's, from its start to its end, over the number of trials. A further
trial is one beyond the 32: of ours by a run of 96, of the peer by its 32 without the time that Ray
Tune takes for one trial that ends at once. The exit code is 1 where ours takes more than its share.
"""

from __future__ import annotations

import os
import statistics
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path

from benchmarks.noop_sweep import NUM_TRIALS
from benchmarks.side_by_side import HEADER, Pairs, environment_lines, in_turn, timed
from orchestrator.arguments import Parser

ROOT = Path(__file__).resolve().parents[1]
MOST = 0.07
"""Our wall time a trial over the peer's, the whole command."""
MOST_FURTHER = 0.02
"""The same of a further trial."""
MANY = 96


def main(arguments: Sequence[str] | None = None) -> int:
    """Run both in turn and print a table; return 1 where the ratio is missed."""
    parser = Parser(description=__doc__)
    parser.add_argument("--pairs", type=int, default=3, help="runs of each")
    options = parser.parse_args(arguments)
    environment = {**os.environ, "PYTHONPATH": str(ROOT)}
    with tempfile.TemporaryDirectory() as folder:

        def ours(index: int, trials: int = NUM_TRIALS) -> float:
            out = Path(folder) / f"ours-{trials}-{index}"
            sweep = ROOT / "benchmarks" / "noop_sweep.py"
            uri = f"sqlite:///{out}.db"
            command: list[str | Path] = [sys.executable, "-m", "orchestrator", sweep, "--out", out,
                       "--tracking-uri", uri]  # fmt: skip
            return timed(
                command, cwd=Path(folder), env={**environment, "NOOP_TRIALS": str(trials)}
            ) / trials  # fmt: skip

        def peer(index: int) -> float:
            return with_ray("noop_ray", f"peer-{index}") / NUM_TRIALS

        def with_ray(module: str, name: str) -> float:
            out = Path(folder) / name
            out.mkdir()
            command: list[str | Path] = [sys.executable, "-m", f"benchmarks.peers.{module}",
                       "--out", out]  # fmt: skip
            return timed(command, cwd=Path(folder), env=environment)

        pairs = in_turn(ours, peer, pairs=options.pairs)
        many, empty = [], []
        for index in range(options.pairs):
            many.append(ours(index, MANY) * MANY)
            empty.append(with_ray("empty_tune", f"empty-{index}"))
    whole = [each * NUM_TRIALS for each in pairs.ours]
    further = Pairs(
        ours=[(a - b) / (MANY - NUM_TRIALS) for a, b in zip(many, whole, strict=True)],
        peer=[
            (each * NUM_TRIALS - one) / (NUM_TRIALS - 1)
            for each, one in zip(pairs.peer, empty, strict=True)
        ],
    )
    lines = environment_lines("ray", "mlflow", "torch")
    what = f"wall time a trial, whole command (to reach: {MOST:g})"
    print("\n".join([*lines, "", HEADER, pairs.row(what, "s")]))
    print(further.row(f"a further trial (to reach: {MOST_FURTHER:g})", "s"))
    print(
        f"\nRay Tune with one empty trial, the whole command: {statistics.median(empty):.1f} s "
        f"({min(empty):.1f} to {max(empty):.1f}); ours with {NUM_TRIALS} trials: "
        f"{statistics.median(whole):.1f} s, with {MANY}: {statistics.median(many):.1f} s"
    )
    reached = statistics.median(pairs.ratios) <= MOST
    return 0 if reached and statistics.median(further.ratios) <= MOST_FURTHER else 1


if __name__ == "__main__":
    sys.exit(main())
