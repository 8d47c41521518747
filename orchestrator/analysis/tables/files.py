"""The tables of a run directory, read under today's names."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Final

import pandas as pd

from orchestrator.errors import RunDirectoryError
from orchestrator.storage.files import RunFile
from orchestrator.storage.sweep_record import FORMAT, SweepRecord, read_sweep

_NEEDED: Final = {
    RunFile.TRIALS: ("trial_id", "stage", "state", "reason"),
    RunFile.CURVES: ("trial_id", "step", "elapsed_s"),
    RunFile.STEP_TIMES: ("trial_id", "duration_s"),
    RunFile.CANDIDATES: (),
}
_RENAMED: Final = {"tags.in_turns": "tags.interleaved"}
"""Columns of a run directory of format 1, with their names today."""
_RENAMED_CELLS: Final = {"dropped": {"turn_start": "slice_start"}}
"""Cells of format 1 by column, with what they are today."""


def read_table(run_dir: Path, name: RunFile) -> pd.DataFrame:
    """Read one of the run's tables.

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
    return with_names_of_today(table)


def read_record(run_dir: Path) -> SweepRecord:
    """Read ``sweep.json``.

    Raises:
        RunDirectoryError: There is no such run, or a later version has written it.
    """
    sweep = read_sweep(run_dir)
    if not isinstance(sweep.format, int) or sweep.format > FORMAT:
        raise RunDirectoryError(
            f"{run_dir / RunFile.SWEEP}: is of format {sweep.format}, this version reads up to "
            f"{FORMAT}",
            "use the version that wrote it",
        )
    return sweep


def with_names_of_today(table: pd.DataFrame) -> pd.DataFrame:
    """Rename what a run of format 1 called otherwise."""
    cells = {name: words for name, words in _RENAMED_CELLS.items() if name in table.columns}
    return table.rename(columns=_RENAMED).replace(cells)


def read_chosen(run_dir: Path) -> Mapping[str, Any] | None:
    """Return the config of ``recommended.json``; None where there is no such file, or no config.

    A rule that is a function of the sweep file is not in the record of a run; its choice is.
    """
    try:
        content = json.loads((run_dir / RunFile.RECOMMENDED).read_text(encoding="utf-8"))
    except (OSError, ValueError):
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
