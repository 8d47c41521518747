"""This checkout against an earlier one: what a trial, a plan, a replay and a report cost.

    git worktree add /tmp/before REVISION
    python -m benchmarks.checkouts --before /tmp/before [--pairs 5]

Each figure is taken in both checkouts in turn, by the same Python and by the benchmarks of each.
"""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
import tempfile
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Final

from benchmarks.code_shape import PACKAGES
from benchmarks.harness import HEADER, ROOT, environment_lines, in_turn, timed
from orchestrator.arguments import Parser

_PLAN: Final = "from benchmarks.planning import ours; print(ours())"
_REPLAY: Final = "from benchmarks.replay import measure; print(measure({})['cpu_s'])"
_REPORT: Final = """
try: from benchmarks.analysis import measure, write_run
except ImportError: from benchmarks.analysis.report_scale import measure, write_run
from pathlib import Path
write_run(Path('run'), {})
print(measure(Path('run'))['total'])
"""
"""With the name that the module had until 2026-11-27."""


def sweep_s(checkout: Path, folder: Path) -> float:
    """Wall time of a whole sweep of 32 trials that do nothing, MLflow included."""
    command: list[str | Path] = [
        sys.executable, "-m", "orchestrator", checkout / "benchmarks" / "noop_sweep.py",
        "--out", folder / "run", "--tracking-uri", f"sqlite:///{folder}/mlflow.db",
    ]  # fmt: skip
    return timed(command, cwd=folder, env=_environment(checkout, folder))


def printed_s(code: str) -> Callable[[Path, Path], float]:
    """Return a figure that a piece of code prints last."""

    def figure(checkout: Path, folder: Path) -> float:
        done = subprocess.run(
            [sys.executable, "-c", code], cwd=folder, env=_environment(checkout, folder),
            capture_output=True, text=True, check=True,
        )  # fmt: skip
        return float(done.stdout.split()[-1])

    return figure


def _environment(checkout: Path, folder: Path) -> dict[str, str]:
    return {**os.environ, "PYTHONPATH": str(checkout), "SWEEP_CACHE": str(folder / "cache")}


def figures(scale: float) -> Mapping[str, Callable[[Path, Path], float]]:
    """Return the figures by name; ``scale`` is the share of the full sizes."""
    replayed, reported = (max(int(scale * size), 10) for size in (10_000, 100_000))
    return {
        "a sweep of 32 trials that do nothing, the whole command": sweep_s,
        "a plan of 100,000 combinations": printed_s(_PLAN),
        f"a replay of {replayed:,} trials, CPU time": printed_s(_REPLAY.format(replayed)),
        f"the report of {reported:,} trials": printed_s(_REPORT.format(reported)),
    }


def main(arguments: Sequence[str] | None = None) -> int:
    """Print the table; return 0."""
    parser = Parser(prog="python -m benchmarks.checkouts", description=__doc__)
    parser.formatter_class = argparse.RawDescriptionHelpFormatter
    parser.add_argument("--before", type=Path, required=True, help="the earlier checkout")
    parser.add_argument("--pairs", type=int, default=5, help="runs of each; default %(default)s")
    parser.add_argument("--scale", type=float, default=1.0, help="share of the full sizes")
    options = parser.parse_args(arguments)
    before = options.before.resolve()
    for checkout in (ROOT, before):  # both with byte code, as an installation has it
        folders = [checkout / name for name in PACKAGES]
        subprocess.run([sys.executable, "-m", "compileall", "-q", *folders], check=False)
    print("\n".join([*environment_lines("ray", "mlflow", "torch"), "- peer: BEFORE", "", HEADER]))
    for name, figure in figures(options.scale).items():
        print(_row(name, figure, before, options.pairs), flush=True)
    return 0


def _row(name: str, figure: Callable[[Path, Path], float], before: Path, pairs: int) -> str:
    def in_checkout(checkout: Path) -> float:
        with tempfile.TemporaryDirectory(prefix="checkouts-") as folder:
            return figure(checkout, Path(folder))

    return in_turn(lambda _: in_checkout(ROOT), lambda _: in_checkout(before), pairs=pairs).row(
        name, "s"
    )


if __name__ == "__main__":
    sys.exit(main())
