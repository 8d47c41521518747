"""Run the tests marked ``gpu`` and the GPU studies; print a Markdown page and keep it.

    bash benchmarks/gpu/run.sh --only graphsage

Each setting of a study is a fresh process; the settings take turns in random order, so that
a drift of the machine shows as spread and not as a difference.
"""

from __future__ import annotations

import argparse
import os
import random
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from benchmarks.gpu.needs import NOT_INSTALLED, missing, missing_for_tests, unpack_wheels
from orchestrator.arguments import Parser

if TYPE_CHECKING:
    from benchmarks.gpu.page import Rows
    from benchmarks.gpu.studies import Scale, Study

MISSING = 2


def main(arguments: Sequence[str] | None = None) -> int:
    """Return 0 if all went well, 1 if something failed, 2 if something is missing.

    If only the tests or some settings need what is missing, the rest is run all the same.
    """
    options = _parser().parse_args(arguments)
    with tempfile.TemporaryDirectory(prefix="gpu-wheels-") as folder:
        if options.wheels is not None:
            try:
                unpack_wheels(options.wheels, Path(folder))
            except FileNotFoundError as error:
                print(error, file=sys.stderr)
                return MISSING
            sys.path.insert(0, folder)
            os.environ["PYTHONPATH"] = os.pathsep.join([folder, os.environ.get("PYTHONPATH", "")])
        if reason := missing(device=options.device):
            print(reason, file=sys.stderr)
            return MISSING
        return _run(options)


def _parser() -> argparse.ArgumentParser:
    parser = Parser(
        prog="bash benchmarks/gpu/run.sh",
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("--only", metavar="STUDY", help="one of the studies")
    parser.add_argument(
        "--no-tests", dest="tests", action="store_false", help="leave out the tests"
    )
    parser.add_argument(
        "--no-studies", dest="studies", action="store_false", help="leave out the studies"
    )
    parser.add_argument("--repeats", type=int, default=3, help="runs of each setting (default 3)")
    parser.add_argument(
        "--data-root", type=Path, help="where MNIST is; without it: generated images"
    )
    parser.add_argument("--wheels", type=Path, help="folder of wheels to put on the path")
    parser.add_argument("--out", type=Path, help="file to keep the page in")
    parser.add_argument(
        "--device", default="cuda", choices=("cuda", "cpu"), help="cpu: to try the harness itself"
    )
    parser.add_argument(
        "--scale", default="full", choices=("full", "tiny"), help="tiny: likewise, in a minute"
    )
    return parser


def _run(options: argparse.Namespace) -> int:
    # Imported only now: the packages that these import may have come in a wheel.
    from benchmarks.gpu.generated import NAME, generated_images
    from benchmarks.gpu.page import page
    from benchmarks.gpu.studies import STUDIES, Scale
    from benchmarks.gpu.tests import run_gpu_tests
    from orchestrator.data import DataFolders

    names = [study.name for study in STUDIES]
    if options.only not in (None, *names):
        print(f"no study {options.only!r}; there are {', '.join(names)}", file=sys.stderr)
        return MISSING
    scale = Scale(options.scale)
    root = options.data_root or generated_images(DataFolders.default().cache)
    asked_for = [study for study in STUDIES if options.only in (None, study.name)]
    studies = asked_for if options.studies else []
    left_out = missing_for_tests() if options.tests else None
    if left_out:
        print(left_out, file=sys.stderr)
    tallies = run_gpu_tests() if options.tests and not left_out else {}
    rows = _measured(studies, options, scale, str(root))
    lacking = _lacking(rows)
    images = NAME if options.data_root is None else "mnist"
    notes = [*([left_out] if left_out else []), *(f"left out: {reason}" for reason in lacking)]
    text = "\n".join(page(STUDIES, rows, tallies, scale=scale, images=images, notes=notes))
    print(text)
    if options.out is not None:
        options.out.write_text(f"{text}\n")
    has_failed = any(tally.counts["failed"] for tally in tallies.values())
    if has_failed or _falls_short(studies, rows, options.device):
        return 1
    return MISSING if left_out or lacking else 0


def _measured(
    studies: Sequence[Study], options: argparse.Namespace, scale: Scale, root: str
) -> Rows:
    from benchmarks.gpu.measure import Work, in_fresh_process

    rows: Rows = {}
    for study in studies:
        for repeat in range(options.repeats):
            order = range(len(study.settings))
            for setting in random.Random(repeat).sample(order, len(order)):
                work = Work(
                    study=study.name,
                    setting=setting,
                    scale=scale,
                    device=options.device,
                    data_root=root,
                    seed=repeat,
                )
                outcome = in_fresh_process(work, "tuned")
                rows.setdefault((study.name, setting), []).append(outcome)
                said = outcome.reason or f"{outcome.metrics.get('samples_per_s', 0):.0f}/s"
                print(f"{study.name} {setting}, run {repeat}: {said}", file=sys.stderr, flush=True)
    return rows


def _lacking(rows: Rows) -> list[str]:
    """Return the reasons of settings that were left out for want of a package."""
    reasons = [outcome.reason for outcomes in rows.values() for outcome in outcomes]
    return sorted({reason for reason in reasons if reason.endswith(NOT_INSTALLED)})


def _falls_short(studies: Sequence[Study], rows: Rows, device: str) -> bool:
    """Return True if a setting failed, or one for a machine with a GPU was not completed on it."""
    elsewhere = {(study.name, setting) for study in studies for setting in study.elsewhere}
    return any(
        outcome.state == "failed"
        or (
            outcome.state != "completed"
            and device == "cuda"
            and setting not in elsewhere
            and not outcome.reason.endswith(NOT_INSTALLED)
        )
        for setting, outcomes in rows.items()
        for outcome in outcomes
    )


if __name__ == "__main__":
    sys.exit(main())
