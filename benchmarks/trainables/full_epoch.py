"""Memory and time of an epoch of sampled GraphSAGE on a graph as large as ogbn-products.

    python -m benchmarks.trainables.full_epoch --folder DIR --scale 1.0

Trains and validates by the command line that a user would run, `python -m trainables.graphsage`,
and reads the memory of all its processes meanwhile: the sum of their proportional shares (PSS),
pages of the mapped graph included. Prints a markdown table.
"""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
import tempfile
import time
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

import psutil

from benchmarks.side_by_side import environment_lines
from orchestrator.arguments import Parser
from orchestrator.data import DataFolders
from trainables.data.sets.products_synthetic import PRODUCTS_SYNTHETIC

LIMIT_GIB = 16.0
LOOK_EVERY_S = 0.25


@dataclass(frozen=True, kw_only=True)
class Epoch:
    """Figures of a run of the command.

    Attributes:
        wall_s: From the process's start to its end.
        peak_gib: Highest sum of the proportional shares of its processes.
        last_line: The last line that it printed about its epoch.
    """

    wall_s: float
    peak_gib: float
    last_line: str


def train(data: str, cache: Path, num_workers: int) -> Epoch:
    """Train one epoch and validate.

    Raises:
        SystemExit: The command failed.
    """
    command = [
        *(sys.executable, "-W", "ignore", "-m", "trainables.graphsage"),
        *("--data", data, "--epochs", "1", "--num-workers", str(num_workers)),
    ]
    began = time.monotonic()
    with tempfile.TemporaryFile("w+") as output:
        process = psutil.Popen(
            command,
            env={**os.environ, "SWEEP_CACHE": str(cache)},
            stdout=output,
            stderr=subprocess.STDOUT,
        )
        peak_bytes = 0
        while process.poll() is None:
            peak_bytes = max(peak_bytes, _proportional_bytes(process))
            time.sleep(LOOK_EVERY_S)
        wall_s = time.monotonic() - began
        output.seek(0)
        text = output.read()
    if process.returncode:
        raise SystemExit(f"{' '.join(command)} failed:\n{text[-3000:]}")
    lines = [line for line in text.splitlines() if line.startswith("epoch")]
    return Epoch(wall_s=wall_s, peak_gib=peak_bytes / 2**30, last_line=lines[-1])


def _proportional_bytes(process: psutil.Process) -> int:
    total = 0
    with suppress(psutil.NoSuchProcess):
        for one in (process, *process.children(recursive=True)):
            with suppress(psutil.NoSuchProcess, psutil.AccessDenied):
                total += one.memory_full_info().pss
    return total


def main() -> int:
    """Run it and print the table; return 1 where an epoch took more than the limit."""
    parser = Parser(description=__doc__, formatter_class=_Plain)
    parser.add_argument("--scale", default="0.03", help="share of ogbn-products' size")
    parser.add_argument("--folder", type=Path, help="where to write the graph and keep it")
    parser.add_argument("--num-workers", type=int, nargs="+", default=[0, 2], help="of each run")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="full-epoch-") as scratch:
        cache = options.folder or Path(scratch)
        folders = DataFolders(root=cache, cache=cache)
        facts = PRODUCTS_SYNTHETIC.at(options.scale).prepare(folders).facts
        print("\n".join([*environment_lines("torch", "dgl"), ""]))
        print(f"{facts['nodes']:,} nodes, {facts['edges']:,} stored edges.\n")
        print("| num_workers | peak memory (PSS) | whole command | its epoch |")
        print("| --- | --- | --- | --- |", flush=True)
        worst = 0.0
        for num_workers in options.num_workers:
            epoch = train(f"products-synthetic@{options.scale}", cache, num_workers)
            worst = max(worst, epoch.peak_gib)
            print(
                f"| {num_workers} | {epoch.peak_gib:.2f} GiB | {epoch.wall_s:.0f} s "
                f"| {epoch.last_line} |",
                flush=True,
            )
    verdict = "within" if worst <= LIMIT_GIB else "above"
    print(f"\n{worst:.2f} GiB at most: {verdict} {LIMIT_GIB:g} GiB.")
    return int(worst > LIMIT_GIB)


class _Plain(argparse.RawDescriptionHelpFormatter, argparse.ArgumentDefaultsHelpFormatter):
    """Formatter that keeps the text's lines and shows defaults."""


if __name__ == "__main__":
    sys.exit(main())
