"""A run's tables, from its directory or from MLflow, into the same frames."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

from orchestrator.analysis.tables.files import read_chosen, read_table
from orchestrator.analysis.tables.run_tables import RunTables, with_run_intervals
from orchestrator.storage.files import RunFile
from orchestrator.storage.history import run_key
from orchestrator.storage.sweep_record import read_sweep
from orchestrator.storage.tables import write_tables

Source = str | Path
"""A run directory; with a tracking URI an MLflow experiment's name or a parent run's id."""


def load_run(source: Source, tracking_uri: str | None = None) -> RunTables:
    """Read the tables of a run.

    Args:
        source: A run directory. With ``tracking_uri``: the id of a sweep's parent run, or
            an experiment's name, for its latest sweep.
        tracking_uri: Reads from this MLflow server or database.

    Raises:
        RunDirectoryError: There is no such run, or a file of it cannot be read.
    """
    if tracking_uri is not None:
        # MLflow takes seconds to import, and most users read the directory.
        from orchestrator.analysis.tables.mlflow_reader import tables_of_mlflow

        return tables_of_mlflow(str(source), tracking_uri)
    run_dir = Path(source)
    tables = RunTables(
        sweep=read_sweep(run_dir),
        trials=read_table(run_dir, RunFile.TRIALS),
        curves=read_table(run_dir, RunFile.CURVES),
        chosen=read_chosen(run_dir),
        key=run_key(run_dir),
    )
    if (run_dir / RunFile.STEP_TIMES).is_file():  # nothing is recommended from them
        tables = replace(tables, steps=read_table(run_dir, RunFile.STEP_TIMES))
    return _with_candidates(tables, run_dir)


def write_run(run_dir: Path) -> RunTables:
    """Write the tables of a run from its journal; return what :func:`load_run` would read.

    Raises:
        FileNotFoundError: The run has no journal.
        RunDirectoryError: A file of it cannot be read.
    """
    trials, curves, steps = write_tables(run_dir, complete=with_run_intervals)
    tables = RunTables(
        sweep=read_sweep(run_dir),
        trials=trials,
        curves=curves,
        steps=steps,
        chosen=read_chosen(run_dir),
        key=run_key(run_dir),
    )
    return _with_candidates(tables, run_dir)


def _with_candidates(tables: RunTables, run_dir: Path) -> RunTables:
    if not (run_dir / RunFile.CANDIDATES).is_file():  # only of a factored search
        return tables
    return replace(tables, candidates=read_table(run_dir, RunFile.CANDIDATES))
