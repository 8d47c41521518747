"""The run that a command is about: a run directory, or one in MLflow."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from orchestrator.arguments import typed
from orchestrator.errors import RunDirectoryError
from orchestrator.locations import short
from orchestrator.storage.files import RunFile, nearest_run

if TYPE_CHECKING:
    from orchestrator.analysis.tables.run_tables import RunTables


def loaded(source: str, tracking_uri: str | None) -> RunTables:
    """Return the tables of a run.

    Args:
        source: A run directory. With ``tracking_uri``: an experiment's name, or a run's id.
        tracking_uri: An MLflow server or database.

    Raises:
        RunDirectoryError: There is no such run, or a file of it cannot be read.
    """
    from orchestrator.analysis.tables.load import load_run  # pandas takes a second to import

    return load_run(source if tracking_uri is not None else run_directory(source), tracking_uri)


def run_directory(source: str) -> Path:
    """Return the folder of a run.

    Raises:
        RunDirectoryError: There is no such folder, or it holds runs, of which the latest is named:
            none is taken unasked.
    """
    folder = Path(source)
    if not folder.is_dir():
        what = (
            "is a file, not the folder of a run" if folder.exists() else "there is no such folder"
        )
        raise RunDirectoryError(
            f"{source}: {what}{nearest_run(folder)}",
            "give the folder that a run printed: runs/SWEEP/TIME",
        )
    if (folder / RunFile.SWEEP).exists() or not (latest := latest_run(folder)):
        return folder
    raise RunDirectoryError(
        f"{source}: is a folder of runs, not a run",
        f"the latest of them: {typed('orchestrator.analysis', [latest])}",
    )


def latest_run(folder: Path) -> Path | None:
    """Return the run below a folder that was started last; None where there is none."""
    records = [*folder.glob(f"*/{RunFile.SWEEP}"), *folder.glob(f"*/*/{RunFile.SWEEP}")]
    if not records:
        return None
    return short(max(records, key=lambda path: path.stat().st_mtime).parent)
