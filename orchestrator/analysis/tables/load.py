"""A run's tables, from its directory or from MLflow, into the same frames."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

from orchestrator.analysis.tables.files import read_chosen, read_record, read_table
from orchestrator.analysis.tables.run_tables import RunTables
from orchestrator.storage.belonging import key_of_run
from orchestrator.storage.files import RunFile

Source = str | Path
"""A run directory; with a tracking URI an MLflow experiment's name or a parent run's id."""


def load_run(source: Source, tracking_uri: str | None = None) -> RunTables:
    """Read the tables of a run.

    Args:
        source: A run directory. With ``tracking_uri``: the id of a sweep's parent run, or
            an experiment's name, which stands for its latest sweep.
        tracking_uri: Reads from this MLflow server or database.

    Raises:
        RunDirectoryError: There is no such run, or a file of it cannot be read or is another run's.
    """
    if tracking_uri is not None:
        # MLflow takes seconds to import, and most readers have the directory.
        from orchestrator.analysis.tables.mlflow_reader import MlflowSweep

        return MlflowSweep.find(str(source), tracking_uri).tables()
    run_dir = Path(source)
    sweep = read_record(run_dir)
    key = key_of_run(run_dir, sweep)
    tables = RunTables(
        sweep=sweep,
        trials=read_table(run_dir, RunFile.TRIALS, key),
        curves=read_table(run_dir, RunFile.CURVES, key),
        chosen=read_chosen(run_dir, key),
        key=key,
    )
    if (run_dir / RunFile.STEP_TIMES).is_file():  # nothing is recommended from them
        tables = replace(tables, steps=read_table(run_dir, RunFile.STEP_TIMES, key))
    if (run_dir / RunFile.CANDIDATES).is_file():  # of a factored search alone
        tables = replace(tables, candidates=read_table(run_dir, RunFile.CANDIDATES, key))
    return tables
