"""This checkout against an earlier one: has a change cost what a trial takes to start, or a plan?

    git worktree add /tmp/before REVISION
    python -m benchmarks.checkouts --before /tmp/before [--pairs 5]

Each figure is taken in both checkouts in alternation, by the same Python: the wall time of a whole
sweep of 32 trials that do nothing, the time to plan 100,000 combinations, and the time from the
start of a process to its first training step.
"""

from __future__ import annotations

import argparse
import os
import re
import subprocess
import sys
import tempfile
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Final

from benchmarks.code_shape import PACKAGES
from benchmarks.side_by_side import ROOT, environment_lines, in_turn, timed
from orchestrator.arguments import Parser

_FIRST_STEP: Final = re.compile(r"first step done, num_workers=0 \| ([\d.]+) s")


def sweep_s(checkout: Path, folder: Path) -> float:
    """Wall time of a whole sweep of 32 trials that do nothing, MLflow included."""
    command: list[str | Path] = [
        sys.executable, "-m", "orchestrator", checkout / "benchmarks" / "noop_sweep.py",
        "--out", folder / "run", "--tracking-uri", f"sqlite:///{folder}/mlflow.db",
    ]  # fmt: skip
    return timed(command, cwd=folder, env=_environment(checkout, folder))


def plan_s(checkout: Path, folder: Path) -> float:
    """Time to plan 100,000 combinations."""
    return float(_output("benchmarks.planning", ["--only", "ours"], checkout, folder).split()[-1])


def first_step_s(checkout: Path, folder: Path) -> float:
    """Median time from a process's start to its first step on a graph of 73,000 nodes."""
    text = _output("benchmarks.first_step", ["--scale", "0.03", "--repeats", "3"], checkout, folder)
    found = _FIRST_STEP.search(text)
    if found is None:
        raise SystemExit(f"no time in the output of benchmarks.first_step:\n{text}")
    return float(found[1])


FIGURES: Final[Mapping[str, Callable[[Path, Path], float]]] = {
    "a sweep of 32 trials that do nothing, the whole command": sweep_s,
    "a plan of 100,000 combinations": plan_s,
    "process start to first step": first_step_s,
}


def _environment(checkout: Path, folder: Path) -> dict[str, str]:
    return {**os.environ, "PYTHONPATH": str(checkout), "SWEEP_CACHE": str(folder / "cache")}


def _output(module: str, arguments: Sequence[str], checkout: Path, folder: Path) -> str:
    # The exit code of a benchmark is its verdict, which is not asked for here.
    done = subprocess.run(
        [sys.executable, "-m", module, *arguments],
        cwd=folder,
        env=_environment(checkout, folder),
        capture_output=True,
        text=True,
        stdin=subprocess.DEVNULL,
        check=False,
    )
    return done.stdout


def main(arguments: Sequence[str] | None = None) -> int:
    """Print the table; return 0."""
    parser = Parser(prog="python -m benchmarks.checkouts", description=__doc__)
    parser.formatter_class = argparse.RawDescriptionHelpFormatter
    parser.add_argument("--before", type=Path, required=True, help="the earlier checkout")
    parser.add_argument("--pairs", type=int, default=5, help="runs of each; default %(default)s")
    options = parser.parse_args(arguments)
    before = options.before.resolve()
    for checkout in (ROOT, before):  # both with byte code, as an installation has it
        folders = [checkout / name for name in PACKAGES]
        subprocess.run([sys.executable, "-m", "compileall", "-q", *folders], check=False)
    print("\n".join(environment_lines("ray", "mlflow", "torch")), end="\n\n")
    print("| figure | now | before | ratio | range of the ratio | pairs |")
    print("| --- | --- | --- | --- | --- | --- |")
    for name, figure in FIGURES.items():
        print(_pairs(name, figure, before, options.pairs), flush=True)
    return 0


def _pairs(name: str, figure: Callable[[Path, Path], float], before: Path, pairs: int) -> str:
    def timed_in(checkout: Path) -> float:
        with tempfile.TemporaryDirectory(prefix="checkouts-") as folder:
            return figure(checkout, Path(folder))

    return in_turn(lambda _: timed_in(ROOT), lambda _: timed_in(before), pairs=pairs).row(name, "s")


if __name__ == "__main__":
    sys.exit(main())
