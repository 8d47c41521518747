"""A run's tables, from its directory."""

from functools import partial
from pathlib import Path
from typing import Final

import pandas as pd
from pyarrow.parquet import read_metadata

from orchestrator.analysis.columns import write_csv
from orchestrator.analysis.tables.run_tables import RunTables, run_intervals
from orchestrator.arguments import command
from orchestrator.errors import RunDirectoryError
from orchestrator.kernel.journal import read_journal
from orchestrator.storage.files import RunFile, read_recommended, replace_file, rest_of
from orchestrator.storage.history import read_history, run_key
from orchestrator.storage.sweep_record import read_sweep
from orchestrator.storage.tables import curves_of, steps_table, trials_of

_MOST_CELLS: Final = 50_000_000
"""Cells of the largest table that is read: 0.4 GB of numbers."""


def load_run(run_dir: str | Path, **known: pd.DataFrame) -> RunTables:
    """Load a run from its directory.

    Args:
        run_dir: ``runs/<sweep>/<time>``. One that lies in MLflow alone is fetched by
            ``mlflow artifacts download --run-id PARENT --dst-path DIR``.
        known: Tables that are not read.

    Returns:
        The run: ``trials`` (a row a trial), ``curves`` (a row a report), ``steps`` (a row a block
        of steps) and ``sweep`` (the request).

    Raises:
        RunDirectoryError: There is no such run, or a file of it cannot be read.
    """
    run_dir = Path(run_dir)
    sweep = read_sweep(run_dir)
    files = {"trials": RunFile.TRIALS, "curves": RunFile.CURVES}
    for name, file in {"steps": RunFile.STEP_TIMES, "candidates": RunFile.CANDIDATES}.items():
        if (run_dir / file).is_file():  # not of every run
            files[name] = file
    read = {name: _read_table(run_dir, file) for name, file in files.items() if name not in known}
    # A rule that is a function of the sweep file is not in the record of a run; its choice is.
    chosen = (read_recommended(run_dir) or {}).get("config")
    return RunTables(sweep=sweep, chosen=chosen, key=run_key(run_dir), **read, **known)


def write_tables(run_dir: Path) -> dict[str, pd.DataFrame]:
    """Write ``trials``, ``curves`` and ``steps`` from the run's journal, and return them by name.

    Raises:
        FileNotFoundError: The run has no journal.
    """
    history = read_history(read_journal(run_dir / RunFile.JOURNAL))
    trials = trials_of(history)
    trials = trials.assign(**run_intervals(RunTables(trials=trials, sweep=history.sweep).grouped))
    curves, steps = curves_of(history), steps_table(run_dir, set(trials["trial_id"]))
    files = {RunFile.TRIALS: trials, RunFile.CURVES: curves, RunFile.STEP_TIMES: steps}
    for name, table in files.items():
        replace_file(run_dir / name, partial(table.to_parquet, index=False))
    replace_file(run_dir / RunFile.TRIALS_TEXT, partial(write_csv, trials))
    return {"trials": trials, "curves": curves, "steps": steps}


def write_run(run_dir: Path) -> RunTables:
    """Write the tables of a run from its journal; return what :func:`load_run` would read."""
    return load_run(run_dir, **write_tables(run_dir))


def _read_table(run_dir: Path, name: RunFile) -> pd.DataFrame:
    """Read one of the run's tables.

    Raises:
        RunDirectoryError: The file is absent, or no table.
    """
    path = run_dir / name
    try:
        size = read_metadata(path)
        if size.num_rows * size.num_columns > _MOST_CELLS:
            raise ValueError(f"it has {size.num_rows:,} rows of {size.num_columns} columns")
        return pd.read_parquet(path)
    except FileNotFoundError:
        raise RunDirectoryError(
            f"{run_dir}: has no {name}, so it is not a run's directory or the run was cut short",
            f"a run that was cut short is finished by: {command(rest_of(run_dir))}",
        ) from None
    except Exception as error:  # noqa: BLE001 - a damaged file raises many types of error
        first_line = str(error).partition("\n")[0] or type(error).__name__
        raise RunDirectoryError(f"{path}: cannot be read as a table: {first_line}") from None
