"""A run's tables, from its directory or from MLflow, into the same frames."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import pandas as pd

from orchestrator.errors import RunDirectoryError

if TYPE_CHECKING:
    from analysis.mlflow_reader import MlflowSweep

SWEEP_FILE: Final = "sweep.json"
TRIALS_FILE: Final = "trials.parquet"
CURVES_FILE: Final = "curves.parquet"

_NEEDED = {
    TRIALS_FILE: ("trial_id", "stage", "state", "reason"),
    CURVES_FILE: ("trial_id", "step", "elapsed_s"),
}

Source = str | Path
"""A run directory; with a tracking URI an MLflow experiment's name or a parent run's id."""


def load(source: Source, *, tracking_uri: str | None = None) -> pd.DataFrame:
    """The trials table: one row a trial, each column in its own type.

    Args:
        source: A run directory. With ``tracking_uri``: the id of a sweep's parent run, or
            an experiment's name, which stands for its latest sweep.
        tracking_uri: Reads from this MLflow server or database.

    Raises:
        RunDirectoryError: There is no such run, or a file of it cannot be read.
    """
    if tracking_uri is not None:
        return _tracked(source, tracking_uri).trials()
    return _read_table(source, TRIALS_FILE)


def load_curves(source: Source, *, tracking_uri: str | None = None) -> pd.DataFrame:
    """The curves table: one row a report, with ``trial_id, step, epoch, samples, elapsed_s``.

    Raises:
        RunDirectoryError: There is no such run, or a file of it cannot be read.
    """
    if tracking_uri is not None:
        return _tracked(source, tracking_uri).curves()
    return _read_table(source, CURVES_FILE)


def load_sweep(source: Source, *, tracking_uri: str | None = None) -> dict[str, Any]:
    """What ``sweep.json`` holds: the sweep as it was resolved, and where it ran.

    Raises:
        RunDirectoryError: There is no such run, or a file of it cannot be read.
    """
    if tracking_uri is not None:
        return _tracked(source, tracking_uri).sweep()
    path = _file_of(source, SWEEP_FILE)
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


def _file_of(source: Source, name: str) -> Path:
    folder = Path(source)
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


def _read_table(source: Source, name: str) -> pd.DataFrame:
    path = _file_of(source, name)
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


def _tracked(source: Source, tracking_uri: str) -> MlflowSweep:
    # MLflow takes seconds to import, and most readers have the directory.
    from analysis.mlflow_reader import MlflowSweep

    return MlflowSweep.find(str(source), tracking_uri)
