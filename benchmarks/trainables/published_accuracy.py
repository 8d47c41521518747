"""Accuracy of each trainable on real data, beside what a study or a reference reached.

    python -m benchmarks.trainables.published_accuracy --data-root DIR --only lenet

Every case is one trainable on its own command line, as anyone would run it. Prints a Markdown
table and keeps it under ``benchmarks/results``; with ``--only`` the other cases' rows stay as
the last run left them. The data root holds ``mnist/MNIST/raw`` and ``ogb/...`` (default:
$SWEEP_TEST_DATA); sets are copied to a scratch folder first, because OGB writes beside them.
"""

from __future__ import annotations

import argparse
import os
import re
import shutil
import statistics
import subprocess
import sys
import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import date
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Final

from benchmarks.side_by_side import environment_lines
from orchestrator.arguments import Parser
from orchestrator.provenance.environment import environment

RESULTS: Final = Path(__file__).parents[1] / "results"


@dataclass(frozen=True, kw_only=True)
class Target:
    """Target of a case.

    Attributes:
        at_least: Lower limit of the figure.
        at_most: Upper limit: more would mean that something else was measured.
        meaning: The limits as the table has them.
    """

    at_least: float
    at_most: float = 1.0
    meaning: str

    def is_reached(self, figure: float) -> bool:
        """Return True if ``figure``, rounded as it is printed, lies within the limits."""
        return self.at_least <= round(figure, 4) <= self.at_most


@dataclass(frozen=True, kw_only=True)
class Case:
    """A trainable, a real data set, and the settings to reach the target with.

    Attributes:
        name: The trainable's module under ``trainables``.
        data: Folder of the set under the data root.
        arguments: The rest of the command line.
        metric: The figure that counts, as the command prints it.
        target: What it is to reach, in the median of all seeds.
        seeds: A run each.
    """

    name: str
    data: str
    arguments: str
    metric: str
    target: Target
    seeds: Sequence[int] = (0,)

    def command(self, root: Path | str, seed: int | str) -> list[str]:
        """The command line, without the interpreter."""
        where = ["--data", f"{root}/{self.data}", "--seed", f"{seed}", "--test"]
        return ["-m", f"trainables.{self.name}", *where, *self.arguments.split()]


CASES: Final = (
    Case(
        name="lenet",
        data="mnist/MNIST/raw",
        arguments="--epochs 30 --lr 1e-3 --batch-size 256 --hold-out false --data-path resident"
        " --eval-every 30",
        metric="test_acc",
        target=Target(at_least=0.978, at_most=0.984, meaning="0.981 ± 0.003"),
        seeds=(0, 1, 2),
    ),
    Case(
        name="mlp",
        data="mnist/MNIST/raw",
        arguments="--epochs 20 --data-placement device --eval-every 20",
        metric="test_acc",
        target=Target(at_least=0.97, meaning="0.97"),
        seeds=(0, 1, 2),
    ),
    Case(
        name="graphsage",
        data="ogb/ogbn_products",
        arguments="--epochs 40 --batch-size 500 --hidden 128 --dropout 0.2 --eval-every 40",
        metric="test_acc",
        target=Target(at_least=0.94, meaning="0.94"),
        seeds=(0, 1, 2),
    ),
    Case(
        name="rgat",
        data="ogb/ogbn_aifb",
        arguments="--epochs 20 --hidden 64 --lr 0.02 --batch-size 28 --dropout 0.2"
        " --fanouts=10,20 --eval-fanouts=-1,-1 --test-fanouts=-1,-1 --test-batch-size 64"
        " --eval-every 2",
        metric="test_acc",
        target=Target(at_least=32 / 36, meaning="32 of 36 (0.8889)"),
        seeds=(0, 1, 2, 3, 4),
    ),
    Case(
        name="node_embedding",
        data="ogb/ogbn_products",
        arguments="--epochs 4 --eval-every 4",
        metric="test_auc",
        target=Target(at_least=0.93, meaning="0.93"),
        seeds=(0, 1, 2),
    ),
)


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the cases; return 1 where a target is missed."""
    parser = Parser(
        prog="python -m benchmarks.trainables.published_accuracy",
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    names = [case.name for case in CASES]
    parser.add_argument("--only", choices=names, metavar="NAME", help=", ".join(names))
    parser.add_argument("--data-root", type=Path, help="where real sets are")
    options = parser.parse_args(arguments)
    root = options.data_root or os.environ.get("SWEEP_TEST_DATA")
    if root is None or not Path(root).is_dir():
        parser.error("no real data: give --data-root, or set SWEEP_TEST_DATA")
    results = results_file()
    rows = rows_of(results)
    reached = True
    for case in CASES:
        if options.only in (None, case.name):
            figures, seconds = measured(case, Path(root))
            rows[case.name] = row(case, figures, seconds)
            reached &= case.target.is_reached(statistics.median(figures))
    text = "\n".join(page(rows))
    print(text)
    RESULTS.mkdir(exist_ok=True)
    results.write_text(f"{text}\n")
    return 0 if reached else 1


def measured(case: Case, root: Path) -> tuple[list[float], float]:
    """The figure of each seed, and the seconds that all of them took."""
    figures = []
    with TemporaryDirectory(prefix="accuracy-") as scratch:
        # Files only: the sets may be read-only, and so would their copies be.
        shutil.copytree(root / case.data, Path(scratch) / case.data, copy_function=shutil.copyfile)
        began = time.perf_counter()
        for seed in case.seeds:
            figures.append(figure_of(case, case.command(scratch, seed)))
            print(f"{case.name}, seed {seed}: {figures[-1]:.4f}", file=sys.stderr, flush=True)
        return figures, time.perf_counter() - began


def figure_of(case: Case, command: Sequence[str]) -> float:
    """Return the figure that the command printed last under the case's metric.

    Raises:
        RuntimeError: It failed, or printed no such figure; the message holds its output.
    """
    done = subprocess.run([sys.executable, *command], capture_output=True, text=True, check=False)
    found = re.findall(rf"^  {case.metric} +(\S+)", done.stdout, re.MULTILINE)
    if done.returncode or not found:
        raise RuntimeError(f"{case.name} failed:\n{done.stdout[-3000:]}\n{done.stderr[-3000:]}")
    return float(found[-1])


# -- the page


HEADER: Final = (
    "| case | to reach | reached (median) | all seeds | minutes | command |\n"
    "| --- | --- | --- | --- | --- | --- |"
)


def row(case: Case, figures: Sequence[float], seconds: float) -> str:
    """The case's line of the table."""
    median = statistics.median(figures)
    missed = "" if case.target.is_reached(median) else " **missed**"
    command = " ".join(["python", *case.command("DATA", case.seeds[0])])
    return (
        f"| {case.name}: {case.metric} | {case.target.meaning} | {median:.4f}{missed} | "
        f"{', '.join(f'{figure:.4f}' for figure in figures)} | {seconds / 60:.1f} | `{command}` |"
    )


def rows_of(results: Path) -> dict[str, str]:
    """The rows that an earlier run of the same day left, by case."""
    if not results.exists():
        return {}
    found = re.findall(r"^\| (\w+): .*$", text := results.read_text(), re.MULTILINE)
    lines = re.findall(r"^\| \w+: .*$", text, re.MULTILINE)
    return dict(zip(found, lines, strict=True))


def page(rows: Mapping[str, str]) -> Iterator[str]:
    """The Markdown, line by line."""
    yield "# Accuracy on real data\n"
    command = "python -m benchmarks.trainables.published_accuracy"
    yield f"- command: `{command}`, one case after the other"
    # Its own first line is the command of the last run, which may have had one case.
    yield from environment_lines("torch", "dgl", "ogb", "torchvision")[1:]
    yield "- DATA: MNIST; Amazon Photo in ogbn-products' layout; AIFB in OGB's layout\n"
    yield HEADER
    yield from (rows[case.name] for case in CASES if case.name in rows)


def results_file() -> Path:
    """Return the file of the page, named by processor and day."""
    processor = environment(Path(__file__))["hardware"]["cpu_model"]
    slug = re.sub(r"[^a-z0-9]+", "-", processor.lower()).strip("-")
    return RESULTS / f"published_accuracy_{slug}_{date.today():%Y-%m-%d}.md"


if __name__ == "__main__":
    sys.exit(main())
