"""Accuracy of the trainables beside plain PyTorch and DGL code of the same settings.

    python -m benchmarks.trainables accuracy --data-root DIR
    python -m benchmarks.trainables accuracy --only rgat --seeds 2

Ours and the plain code train in turn, with the same config, epochs and seeds, in this process.
Also: node_embedding beside the number of common neighbours, and sampled blocks beside the study's
sampler. The data root holds ``mnist/MNIST/raw`` and ``ogb/...`` (default: $SWEEP_TEST_DATA); sets
are copied to a scratch folder first, because their own loaders write beside them. Each finished
training is a line of ``--runs``, and is not trained again. Prints a Markdown table; all cases over
five seeds or more are kept under ``benchmarks/results``. The exit code is 1 where a target is
missed. Some 15 minutes on two idle cores.
"""

from __future__ import annotations

import argparse
import os
import shutil
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path

from orchestrator.arguments import Parser

FEWEST_SEEDS = 5
"""Seeds of a page that is kept."""


def main(arguments: Sequence[str] | None = None) -> int:
    """Train what is asked for and print the page; return 1 where a target is missed."""
    os.environ.setdefault("DGLBACKEND", "pytorch")  # without it DGL writes a config file
    options = _options(arguments)
    with tempfile.TemporaryDirectory(prefix="accuracy-") as scratch:
        return _compare(options, Path(scratch))


def _options(arguments: Sequence[str] | None) -> argparse.Namespace:
    parser = Parser(
        prog="python -m benchmarks.trainables accuracy",
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("--data-root", type=Path, help="where real sets are")
    parser.add_argument("--only", default="", metavar="TEXT", help="cases that have it in the name")
    parser.add_argument("--seeds", type=int, default=FEWEST_SEEDS, help="trainings of each side")
    parser.add_argument(
        "--threads",
        type=int,
        default=1,
        help="torch's, in every training: more are slower where other load shares the cores",
    )
    parser.add_argument(
        "--runs",
        type=Path,
        default=Path(tempfile.gettempdir()) / "accuracy_runs.jsonl",
        help="finished trainings; remove it after a change of code (default: %(default)s)",
    )
    options = parser.parse_args(arguments)
    root = options.data_root or os.environ.get("SWEEP_TEST_DATA")
    if root is None or not Path(root).is_dir():
        parser.error("no real data: give --data-root, or set SWEEP_TEST_DATA")
    options.data_root = Path(root)
    return options


def _compare(options: argparse.Namespace, scratch: Path) -> int:
    import torch

    from benchmarks.trainables.accuracy.blocks import measured
    from benchmarks.trainables.accuracy.cases import GENERATED, PHOTO, cases
    from benchmarks.trainables.accuracy.page import page, results_file
    from benchmarks.trainables.accuracy.runs import FinishedRuns
    from orchestrator.data import DataFolders

    only = options.only.casefold()
    chosen = [case for case in cases() if only in case.name.casefold()]
    if not chosen:
        names = "\n".join(case.name for case in cases())
        sys.exit(f"no case has {options.only!r} in its name; there are:\n{names}")
    torch.set_num_threads(options.threads)
    for part in ("mnist", "ogb"):
        # Files only: the sets may be read-only, and so would their copies be.
        shutil.copytree(options.data_root / part, scratch / part, copy_function=shutil.copyfile)
    folders = DataFolders(root=scratch, cache=scratch / "cache")
    finished, seeds = FinishedRuns(options.runs), range(options.seeds)
    outcomes = {case: finished.outcome(case, folders, seeds) for case in chosen}
    blocks = [measured(data, folders) for data in (str(scratch / PHOTO), GENERATED)]
    text = "\n".join(page(outcomes, blocks, seeds)).replace(f"{scratch}/", "")
    print(text)
    if not options.only and options.seeds >= FEWEST_SEEDS:
        results_file().write_text(f"{text}\n")
    reached = [case.is_reached(outcome.difference) for case, outcome in outcomes.items()]
    return 0 if all([*reached, *(sizes.is_reached for sizes in blocks)]) else 1


if __name__ == "__main__":
    sys.exit(main())
