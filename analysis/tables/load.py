"""A run's tables, from its directory or from MLflow, into the same frames."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import pandas as pd

from analysis.tables.files import CURVES_FILE, TRIALS_FILE, read_sweep, read_table

if TYPE_CHECKING:
    from analysis.tables.mlflow_reader import MlflowSweep

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
    return read_table(Path(source), TRIALS_FILE)


def load_curves(source: Source, *, tracking_uri: str | None = None) -> pd.DataFrame:
    """The curves table: one row a report, with ``trial_id, step, epoch, samples, elapsed_s``.

    Raises:
        RunDirectoryError: There is no such run, or a file of it cannot be read.
    """
    if tracking_uri is not None:
        return _tracked(source, tracking_uri).curves()
    return read_table(Path(source), CURVES_FILE)


def load_sweep(source: Source, *, tracking_uri: str | None = None) -> dict[str, Any]:
    """What ``sweep.json`` holds: the sweep as it was resolved, and where it ran.

    Raises:
        RunDirectoryError: There is no such run, or a file of it cannot be read.
    """
    if tracking_uri is not None:
        return _tracked(source, tracking_uri).sweep()
    return read_sweep(Path(source))


def _tracked(source: Source, tracking_uri: str) -> MlflowSweep:
    # MLflow takes seconds to import, and most readers have the directory.
    from analysis.tables.mlflow_reader import MlflowSweep

    return MlflowSweep.find(str(source), tracking_uri)
