"""The files of a run directory, by name, and how they are written: renamed, never half there."""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from enum import StrEnum
from pathlib import Path
from secrets import token_hex
from typing import Any, Final

from orchestrator.errors import RunDirectoryError, nearest

_SHOWN: Final = 40
"""Characters of a name that the temporary one has: no name may be longer than 255 bytes."""


class RunFile(StrEnum):
    """A file of a run directory: ``run_dir / RunFile.SWEEP``."""

    SWEEP = "sweep.json"
    """The sweep as it was resolved, and where it ran."""
    JOURNAL = "journal.jsonl"
    """Every fact of the run, in order; all else is made of it and of ``sweep.json``."""
    STEPS = "steps.jsonl"
    """The times of steps, written like the journal."""
    WARM_START = "warm_start.json"
    """What the search was told of earlier runs; absent without a warm start."""
    TRIALS = "trials.parquet"
    TRIALS_TEXT = "trials.csv"
    CURVES = "curves.parquet"
    STEP_TIMES = "steps.parquet"
    CANDIDATES = "candidates.parquet"
    """The configs of a factored search, trained or not; absent for other searches."""
    COMPOSED = "composed.parquet"
    """These configs with figures composed of probes and learning curves."""
    COMPOSED_TEXT = "composed.csv"
    OUTPUT = "output"
    """A folder: what each trial has printed, ``TRIAL_ID.txt``; absent where none has."""
    FRONT = "front.csv"
    FRONT_PLOT = "front.svg"
    RECOMMENDED = "recommended.json"
    ANSWER = "answer.md"
    """The answer in Markdown, as MLflow's page has it; to be pasted anywhere."""
    REPORT = "report.html"
    MLFLOW = "mlflow.txt"
    """What shows the run in MLflow's pages: an address, below a command where it needs one."""
    FIGURES = "figures"
    """A folder: the table of each of the report's figures, and its tables, as CSV."""


def no_run(folder: Path) -> RunDirectoryError:
    """Return the error for a folder that is no run directory; it names the run that was meant."""
    if folder.is_dir():
        what = f"it has no {RunFile.SWEEP}"
    else:
        what = "it is a file" if folder.exists() else "no such folder"
    beside = [path.parent.name for path in folder.parent.glob(f"*/{RunFile.SWEEP}")]
    hint = "give the folder that a sweep printed, runs/<sweep>/<time>"
    if below := [*folder.glob(f"*/{RunFile.SWEEP}"), *folder.glob(f"*/*/{RunFile.SWEEP}")]:
        latest = max(below, key=lambda path: path.stat().st_mtime)
        hint = f"the latest run in it: {latest.parent}"
    return RunDirectoryError(
        f"{folder}: is not a run directory ({what}){nearest(folder.name, beside)}", hint
    )


def read_recommended(run_dir: Path) -> dict[str, Any] | None:
    """Return the content of ``recommended.json``; None where the file is absent or damaged."""
    try:
        content = json.loads((run_dir / RunFile.RECOMMENDED).read_bytes())
    except (OSError, ValueError):
        return None
    return content if isinstance(content, dict) and "config" in content else None


def replace_file(path: Path, write: Callable[[Path], object]) -> None:
    """Write a file under a temporary name and rename it.

    Raises:
        OSError: It cannot be written, and names ``path``; nothing is left of it.
    """
    with renamed_to(path) as temporary:
        write(temporary)


@contextmanager
def renamed_to(path: Path) -> Iterator[Path]:
    """Yield the name of a file or folder to make in the folder of ``path``; rename it at the end.

    No other process has that name: two may write the same file at once, and the last one stays.

    Raises:
        OSError: That cannot be done, and names ``path``; nothing is left of it.
    """
    temporary = path.with_name(f".{path.name[:_SHOWN]}.{token_hex(8)}.tmp")
    try:
        yield temporary
        temporary.replace(path)
    except OSError as error:
        # One without a number is a sentence alone, as pandas raises it.
        if error.errno is not None and error.filename in (None, str(temporary)):
            error.filename = str(path)
            del error.filename2
        raise
    finally:
        with suppress(OSError):
            if temporary.is_dir():
                shutil.rmtree(temporary)
            else:
                temporary.unlink(missing_ok=True)
