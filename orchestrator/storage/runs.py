"""The runs below a folder: the last one, and ``python -m orchestrator list``."""

import json
import sys
import time
from collections.abc import Sequence
from pathlib import Path

from orchestrator.arguments import Parser, a_path, command
from orchestrator.errors import RunDirectoryError
from orchestrator.locations import short
from orchestrator.storage.files import RunFile, read_recommended

DEFAULT_RUNS = Path("runs")
"""Folder of run directories, ``runs/SWEEP/TIME``."""


def runs_below(folder: Path) -> list[Path]:
    """Return the run directories ``SWEEP/TIME`` below a folder, the last written first."""
    found = [path.parent for path in folder.glob(f"*/*/{RunFile.JOURNAL}")]
    return sorted(found, key=lambda run: -(run / RunFile.JOURNAL).stat().st_mtime)


def last_runs(number: int) -> list[Path]:
    """Return the last runs below ``runs``, of one sweep, the older first; print which they are.

    Raises:
        RunDirectoryError: There are not as many.
    """
    runs = runs_below(DEFAULT_RUNS)
    found = [run for run in runs if run.parent == runs[0].parent][:number][::-1]
    if len(found) < number:
        raise RunDirectoryError(f"no {number} runs below {DEFAULT_RUNS}", "name them")
    sys.stderr.write(f"{' and '.join(str(short(run)) for run in found)}:\n")
    return found


def main(arguments: Sequence[str]) -> int:
    """Print the runs below a folder, the last one first; return 0."""
    parser = Parser(prog=command("list"), description="Lists runs, the last first.")
    parser.add_argument("folder", metavar="DIR", nargs="?", type=a_path, default=DEFAULT_RUNS,
                        help="folder of SWEEP/TIME (default: runs)")  # fmt: skip
    parser.add_argument("--json", action="store_true", help="print one JSON document")
    options = parser.parse_args(arguments)
    rows = [_row(run) for run in runs_below(options.folder)]
    if options.json:
        sys.stdout.write(f"{json.dumps(rows)}\n")
        return 0
    for row in rows:
        sys.stdout.write(f"{row['run']}  {row['written']}  {row['status']}\n")
        if row["sentence"]:
            sys.stdout.write(f"    {row['sentence']}\n")
    if not rows:
        sys.stderr.write(f"no runs below {options.folder}\n")
    return 0


def _row(run: Path) -> dict[str, str]:
    content = read_recommended(run) or {"status": "no answer yet", "sentence": ""}
    written = time.localtime((run / RunFile.JOURNAL).stat().st_mtime)
    return {
        "run": str(short(run)),
        "written": time.strftime("%Y-%m-%d %H:%M", written),
        "status": str(content.get("status", "")),
        "sentence": str(content.get("sentence", "")),
    }
