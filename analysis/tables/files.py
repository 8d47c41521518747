"""The files of a run directory, read: the trials and curves tables and ``sweep.json``."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any, Final

import pandas as pd

from orchestrator.errors import RunDirectoryError

SWEEP_FILE: Final = "sweep.json"
TRIALS_FILE: Final = "trials.parquet"
CURVES_FILE: Final = "curves.parquet"

_NEEDED = {
    TRIALS_FILE: ("trial_id", "stage", "state", "reason"),
    CURVES_FILE: ("trial_id", "step", "elapsed_s"),
}


def read_sweep(run_dir: Path) -> dict[str, Any]:
    """What ``sweep.json`` holds.

    Raises:
        RunDirectoryError: There is no such run, or the file cannot be read.
    """
    path = _file_of(run_dir, SWEEP_FILE)
    try:
        return parse_sweep(path.read_text(encoding="utf-8"), str(path))
    except (OSError, UnicodeDecodeError) as error:
        raise RunDirectoryError(f"{path}: cannot be read: {error}") from None


def parse_sweep(text: str, where: str) -> dict[str, Any]:
    """The content of a ``sweep.json``.

    Raises:
        RunDirectoryError: It is not what such a file holds.
    """
    try:
        sweep = json.loads(text)
    except ValueError as error:
        raise RunDirectoryError(f"{where}: is not JSON: {error}") from None
    needed = ("name", "objectives", "knobs", "baseline", "accuracy_tolerance")
    missing = [key for key in needed if not isinstance(sweep, dict) or key not in sweep]
    if missing:
        raise RunDirectoryError(f"{where}: does not describe a sweep: no {', '.join(missing)}")
    return dict(sweep)


def _file_of(folder: Path, name: str) -> Path:
    if not folder.is_dir():
        what = "is a file" if folder.exists() else "does not exist"
        raise RunDirectoryError(
            f"{folder}: {what}", "give the directory of a run: runs/<sweep>/<time>"
        )
    if not (folder / name).is_file():
        raise RunDirectoryError(
            f"{folder}: has no {name}, so it is not a run's directory or the run was cut short",
            f"a run that was cut short is finished by: python -m orchestrator --resume {folder}",
        )
    return folder / name


def read_table(run_dir: Path, name: str) -> pd.DataFrame:
    """One of the run's tables.

    Raises:
        RunDirectoryError: There is no such run, or the file is no such table.
    """
    path = _file_of(run_dir, name)
    try:
        table = pd.read_parquet(path)
    except (OSError, ValueError) as error:  # all of pyarrow's errors are one of these
        first_line = str(error).partition("\n")[0]
        raise RunDirectoryError(f"{path}: is no Parquet table: {first_line}") from None
    missing = [column for column in _NEEDED[name] if column not in table.columns]
    if missing:
        raise RunDirectoryError(
            f"{path}: has no column {', '.join(missing)}", f"columns: {', '.join(table.columns)}"
        )
    return table
