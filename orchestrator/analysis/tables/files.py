"""The tables of a run directory."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Final

import pandas as pd

from orchestrator.errors import RunDirectoryError
from orchestrator.storage.files import RunFile

_NEEDED: Final = {
    RunFile.TRIALS: ("trial_id", "stage", "state", "reason"),
    RunFile.CURVES: ("trial_id", "step", "elapsed_s"),
    RunFile.STEP_TIMES: ("trial_id", "duration_s"),
    RunFile.CANDIDATES: (),
}


def read_table(run_dir: Path, name: RunFile) -> pd.DataFrame:
    """Read one of the run's tables.

    Raises:
        RunDirectoryError: There is no such run, or the file is not this table.
    """
    path = _file_of(run_dir, name)
    try:
        table = pd.read_parquet(path)
    except Exception as error:  # noqa: BLE001 - a damaged file raises many types of error
        first_line = str(error).partition("\n")[0] or type(error).__name__
        raise RunDirectoryError(f"{path}: is no Parquet table: {first_line}") from None
    missing = [column for column in _NEEDED[name] if column not in table.columns]
    if missing:
        raise RunDirectoryError(
            f"{path}: has no column {', '.join(missing)}",
            f"columns: {', '.join(map(str, table.columns))}",
        )
    return table


def read_chosen(run_dir: Path) -> Mapping[str, Any] | None:
    """Return the config of ``recommended.json``; None without one.

    A rule that is a function of the sweep file is not in the record of a run; its choice is.
    """
    try:
        content = json.loads((run_dir / RunFile.RECOMMENDED).read_bytes())
    except (OSError, ValueError, RecursionError):
        return None
    config = content.get("config") if isinstance(content, dict) else None
    return config if isinstance(config, dict) else None


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
