"""The tables of a run directory, read under today's names."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Final

import pandas as pd

from orchestrator.errors import RunDirectoryError
from orchestrator.field_types import shown
from orchestrator.storage.belonging import RUN_KEY, is_of_another, require_table_of
from orchestrator.storage.files import RunFile
from orchestrator.storage.sweep_record import FORMAT, SweepRecord, read_sweep
from orchestrator.trial import Stage, TrialState

_NEEDED: Final = {
    RunFile.TRIALS: ("trial_id", "stage", "state", "reason"),
    RunFile.CURVES: ("trial_id", "step", "elapsed_s"),
    RunFile.STEP_TIMES: ("trial_id", "duration_s"),
    RunFile.CANDIDATES: (),
}
_NUMBERS: Final = (
    "seed", "repeat", "cores", "wall_s", "step", "epoch", "samples", "elapsed_s", "duration_s",
)  # fmt: skip
"""Columns of numbers, beside the metrics."""
_TEXTS: Final[Mapping[str, Sequence[str]]] = {
    "trial_id": (), "reason": (), "data": (), "node": (), "device": (), "isolation": (),
    "stage": tuple(Stage), "state": tuple(TrialState),
}  # fmt: skip
"""Columns of text, beside the tags, with all that they may say; none: anything."""
_RENAMED: Final = {"tags.in_turns": "tags.interleaved"}
"""Columns of a run directory of format 1, with their names today."""
_RENAMED_CELLS: Final = {"dropped": {"turn_start": "slice_start"}}
"""Cells of format 1 by column, with what they are today."""


def read_table(run_dir: Path, name: RunFile, key: str = "") -> pd.DataFrame:
    """Read one of the run's tables.

    Args:
        run_dir: The run's folder.
        name: The table's file.
        key: The run's key; empty where it is not known.

    Raises:
        RunDirectoryError: There is no such run, or the file is no such table, or another run's.
    """
    path = _file_of(run_dir, name)
    try:
        table = pd.read_parquet(path)
    except Exception as error:  # noqa: BLE001 - a damaged file raises what pyarrow and pandas hit
        first_line = str(error).partition("\n")[0] or type(error).__name__
        raise RunDirectoryError(f"{path}: is no Parquet table: {first_line}") from None
    missing = [column for column in _NEEDED[name] if column not in table.columns]
    if missing:
        raise RunDirectoryError(
            f"{path}: has no column {', '.join(missing)}",
            f"columns: {', '.join(map(str, table.columns))}",
        )
    for column in table.columns:
        if (wrong := _wrong(table, column)) is not None:
            raise RunDirectoryError(
                f"{path}: column {column} holds {wrong}",
                f"write the tables again: python -m orchestrator --resume {run_dir}",
            )
    require_table_of(key, table.attrs, path)
    table.attrs.pop(RUN_KEY, None)
    return with_names_of_today(table)


def _wrong(table: pd.DataFrame, column: object) -> str | None:
    """Return what a column holds that it cannot; None where it is as it should be."""
    if not isinstance(column, str) or list(table.columns).count(column) > 1:
        return "what another one of its name holds as well"
    cells, dtype = table[column], str(table[column].dtype)
    if column.startswith("metrics.") or column in _NUMBERS:
        return None if pd.api.types.is_numeric_dtype(cells) else dtype
    if column.startswith("tags.") or column in _TEXTS:
        known = cells.dropna()
        is_text = bool(known.map(lambda cell: isinstance(cell, str)).all())
        if not is_text:
            return dtype
        others = set(known) - set(_TEXTS.get(column) or known)
        return shown(min(others)) if others else None
    return None


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


def read_chosen(run_dir: Path, key: str = "") -> Mapping[str, Any] | None:
    """Return the config of ``recommended.json``; None without one, or in one of another run.

    A rule that is a function of the sweep file is not in the record of a run; its choice is.

    Args:
        run_dir: The run's folder.
        key: The run's key; empty where it is not known.
    """
    try:
        content = json.loads((run_dir / RunFile.RECOMMENDED).read_bytes())
    except (OSError, ValueError, RecursionError):
        return None
    if not isinstance(content, dict) or is_of_another(content.get(RUN_KEY), key):
        return None
    config = content.get("config")
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
