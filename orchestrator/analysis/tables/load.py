"""A run's tables, from its directory or from MLflow, into the same frames."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Final

import pandas as pd

from orchestrator.analysis.tables.run_tables import RunTables, with_run_intervals
from orchestrator.errors import RunDirectoryError
from orchestrator.storage.files import RunFile, read_recommended
from orchestrator.storage.history import run_key
from orchestrator.storage.sweep_record import read_sweep
from orchestrator.storage.tables import write_tables

Source = str | Path
"""A run directory; with a tracking URI an MLflow experiment's name or a parent run's id."""

_NEEDED: Final = {
    RunFile.TRIALS: ("trial_id", "stage", "state", "reason"),
    RunFile.CURVES: ("trial_id", "step", "elapsed_s"),
    RunFile.STEP_TIMES: ("trial_id", "duration_s"),
    RunFile.CANDIDATES: (),
}


def load_run(source: Source, tracking_uri: str | None = None) -> RunTables:
    """Load a run from its directory or from MLflow, into the same frames.

    Args:
        source: A run directory, ``runs/<sweep>/<time>``. With ``tracking_uri``: the id of a
            sweep's parent run, or an experiment's name, for its latest sweep.
        tracking_uri: The MLflow server or database to read from.

    Returns:
        The run: ``trials`` (a row a trial), ``curves`` (a row a report), ``steps`` (a row a block
        of steps) and ``sweep`` (the request).

    Raises:
        RunDirectoryError: There is no such run, or a file of it cannot be read.
    """
    if tracking_uri is None:
        return _read(Path(source))
    # MLflow takes seconds to import, and most users read the directory.
    from orchestrator.analysis.tables.mlflow_reader import download_run

    with TemporaryDirectory(prefix="sweep-artifacts-") as folder:
        trials = download_run(str(source), tracking_uri, Path(folder))
        return _read(Path(folder), trials)


def _read(run_dir: Path, trials: pd.DataFrame | None = None) -> RunTables:
    tables = RunTables(
        sweep=read_sweep(run_dir),
        trials=read_table(run_dir, RunFile.TRIALS) if trials is None else trials,
        curves=read_table(run_dir, RunFile.CURVES),
    )
    if (run_dir / RunFile.STEP_TIMES).is_file():  # nothing is recommended from them
        tables = replace(tables, steps=read_table(run_dir, RunFile.STEP_TIMES))
    return _completed(tables, run_dir)


def write_run(run_dir: Path) -> RunTables:
    """Write the tables of a run from its journal; return what :func:`load_run` would read.

    Raises:
        FileNotFoundError: The run has no journal.
        RunDirectoryError: A file of it cannot be read.
    """
    trials, curves, steps = write_tables(run_dir, complete=with_run_intervals)
    tables = RunTables(sweep=read_sweep(run_dir), trials=trials, curves=curves, steps=steps)
    return _completed(tables, run_dir)


def _completed(tables: RunTables, run_dir: Path) -> RunTables:
    """Return the tables with the files that are not of every run."""
    # A rule that is a function of the sweep file is not in the record of a run; its choice is.
    chosen = (read_recommended(run_dir) or {}).get("config")
    tables = replace(tables, chosen=chosen, key=run_key(run_dir))
    if not (run_dir / RunFile.CANDIDATES).is_file():  # only of a factored search
        return tables
    return replace(tables, candidates=read_table(run_dir, RunFile.CANDIDATES))


def read_table(run_dir: Path, name: RunFile) -> pd.DataFrame:
    """Read one of the run's tables.

    Raises:
        RunDirectoryError: The file is absent, or not this table.
    """
    path = run_dir / name
    try:
        table = pd.read_parquet(path)
    except FileNotFoundError:
        raise RunDirectoryError(
            f"{run_dir}: has no {name}, so it is not a run's directory or the run was cut short",
            f"a run that was cut short is finished by: python -m orchestrator --resume {run_dir}",
        ) from None
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
