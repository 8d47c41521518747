"""Command of the differential suite; see the package."""

from __future__ import annotations

import logging
import os
import sys
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Final

import ray

from benchmarks.reliability.ray_tune import ours, plain
from benchmarks.reliability.ray_tune.compare import Row, of_function, of_refused, of_space
from benchmarks.reliability.ray_tune.functions import DOCUMENTED, FUNCTIONS
from benchmarks.reliability.ray_tune.seen import FOLDER, told
from benchmarks.reliability.ray_tune.spaces import REFUSED, SPACES
from benchmarks.reliability.ray_tune.wrapped import WRAPPED
from orchestrator.arguments import Parser

PARTS: Final[Mapping[str, Mapping[str, object]]] = {
    "functions": FUNCTIONS,
    "wrapped": WRAPPED,
    "spaces": {**SPACES, **REFUSED},
}
"""The cases of each part of the suite."""


def main(arguments: Sequence[str] | None = None) -> int:
    """Print a row a function and space; return 1 where one differs."""
    parser = Parser(prog="python -m benchmarks.reliability.ray_tune")
    parser.add_argument("--only", choices=PARTS, help="one part of the suite")
    parser.add_argument(
        "--cases", nargs="+", metavar="NAME", help="these alone, as the table has them"
    )
    options = parser.parse_args(arguments)
    cases = [case for part, own in PARTS.items() if options.only in (None, part) for case in own]
    if unknown := set(options.cases or ()) - set(cases):
        parser.error(f"unknown case: {', '.join(sorted(unknown))}")
    # Its loggers of files end the whole run at a key that is no text.
    quiet = {"RAY_AIR_NEW_OUTPUT": "0", "TUNE_DISABLE_AUTO_CALLBACK_LOGGERS": "1"}
    os.environ.update(RAY_ENABLE_UV_RUN_RUNTIME_ENV="0", **quiet)
    with tempfile.TemporaryDirectory(prefix="rt-") as folder:
        rows = list(rows_of(options.cases or cases, Path(folder)))
    print(table(rows))
    return 1 if any(row.differences for row in rows) else 0


def table(rows: Sequence[Row]) -> str:
    """Return a markdown table with a line a function and space, and what it comes to."""
    lines = [
        "| kind | name | plain Ray Tune | from_ray | same? |",
        "| --- | --- | --- | --- | --- |",
    ]
    for row in rows:
        cells = (row.kind, row.name, row.plain, row.ours, row.verdict)
        lines.append(f"| {' | '.join(each.translate({124: '/', 10: ' '}) for each in cells)} |")
    differ = sum(bool(row.differences) for row in rows)
    documented = sum(bool(row.documented and not row.differences) for row in rows)
    return "\n".join([
        *lines, "",
        f"{len(rows)} functions and spaces: {len(rows) - differ - documented} the same, "
        f"{documented} documented differences, {differ} differing",
    ])  # fmt: skip


def rows_of(cases: Sequence[str], folder: Path) -> Iterator[Row]:
    """Yield the rows of some cases.

    Args:
        cases: Their names.
        folder: For what is recorded.
    """
    of_wrapped, of_spaces = ([n for n in cases if n in own] for own in (WRAPPED, SPACES))
    there, here = folder / "seen-plain", folder / "seen-ours"
    for each in (there, here):
        each.mkdir(parents=True)
    os.environ[FOLDER] = str(here)
    # Before Ray is there: tune.with_parameters keeps its data in Ray from then on.
    wrapped = ours.wrapped(of_wrapped)
    os.environ[FOLDER] = str(there)
    with own_ray():
        recorded = plain.functions(folder / "plain", cases)
        recorded |= plain.wrapped(folder / "plain", of_wrapped)
        drawn = plain.spaces(folder / "plain", of_spaces)
    os.environ[FOLDER] = str(here)
    outcomes = ours.functions(folder, recorded)
    views = told(there), told(here)
    for name, outcome in {**outcomes, **wrapped}.items():
        seen = views[0].get(name, []), views[1].get(name, [])
        is_class = name in WRAPPED and isinstance(WRAPPED[name].function, type)
        kind = "class" if is_class else "function"
        yield of_function(kind, name, recorded[name], outcome, seen, DOCUMENTED.get(name))
    for name, configs in drawn.items():
        yield of_space(name, SPACES[name], configs, views[0].get(name, []))
    for name in cases:
        if name in REFUSED:
            yield of_refused(name, REFUSED[name])


@contextmanager
def own_ray() -> Iterator[None]:
    """Start Ray for what runs within, in a folder of its own."""
    with tempfile.TemporaryDirectory(prefix="r-") as folder:
        ray.init(
            num_cpus=2, include_dashboard=False, log_to_driver=False, logging_level=logging.ERROR,
            _temp_dir=folder,
        )  # fmt: skip
        try:
            yield
        finally:
            ray.shutdown()


if __name__ == "__main__":
    sys.exit(main())
