"""A run's tables, from its directory or from MLflow, into the same frames.

The driver's mirror stores the tables with the sweep's parent run. MLflow answers within seconds, or
one message reports that it does not.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Final

import pandas as pd
from pyarrow.parquet import read_metadata

from orchestrator.analysis.columns import write_csv
from orchestrator.analysis.tables.run_tables import RunTables, run_intervals
from orchestrator.arguments import command
from orchestrator.errors import RunDirectoryError, SweepError, nearest
from orchestrator.kernel.journal import read_journal
from orchestrator.storage.files import RunFile, read_recommended, replace_file
from orchestrator.storage.history import read_history, run_key
from orchestrator.storage.sweep_record import read_sweep
from orchestrator.storage.tables import curves_of, steps_table, trials_of
from orchestrator.tracking.mlflow import content
from orchestrator.tracking.mlflow.uris import checked_uri, reason_of, shown, sqlite_path

if TYPE_CHECKING:
    from mlflow.entities import Run
    from mlflow.tracking import MlflowClient

Source = str | Path
"""A run directory; with a tracking URI an MLflow experiment's name or a parent run's id."""

_MOST_CELLS: Final = 50_000_000
"""Cells of the largest table that is read: 0.4 GB of numbers."""

_FILES: Final = (RunFile.SWEEP, RunFile.TRIALS, RunFile.CURVES, RunFile.STEP_TIMES)
_OF_SOME_RUNS: Final = (RunFile.CANDIDATES, RunFile.RECOMMENDED)

_REQUEST_S: Final = "10"
"""Longest wait for an answer of MLflow, unless the user set one."""


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
        return _tables(Path(source))
    with TemporaryDirectory(prefix="sweep-artifacts-") as folder:
        with _asking(tracking_uri):
            client = _connected(tracking_uri)
            parent = _parent(client, str(source))
            there = {artifact.path for artifact in client.list_artifacts(parent.info.run_id)}
            for file in (*_FILES, *(file for file in _OF_SOME_RUNS if file in there)):
                if file not in there:
                    raise RunDirectoryError(
                        f"MLflow run {parent.info.run_id}: has no file {file}",
                        f"its sweep has not ended, or was killed: {command('--resume')} "
                        f"{parent.data.tags.get('sweep.run_dir', 'RUN_DIR')} completes it",
                    )
                client.download_artifacts(parent.info.run_id, file, folder)
        return _tables(Path(folder))


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
    return _tables(run_dir, **write_tables(run_dir))


def _tables(run_dir: Path, **known: pd.DataFrame) -> RunTables:
    """Return the tables of a directory; those that are known are not read."""
    sweep = read_sweep(run_dir)
    files = {"trials": RunFile.TRIALS, "curves": RunFile.CURVES}
    for name, file in {"steps": RunFile.STEP_TIMES, "candidates": RunFile.CANDIDATES}.items():
        if (run_dir / file).is_file():  # not of every run
            files[name] = file
    read = {name: _read_table(run_dir, file) for name, file in files.items() if name not in known}
    # A rule that is a function of the sweep file is not in the record of a run; its choice is.
    chosen = (read_recommended(run_dir) or {}).get("config")
    return RunTables(sweep=sweep, chosen=chosen, key=run_key(run_dir), **read, **known)


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
            f"a run that was cut short is finished by: {command(f'--resume {run_dir}')}",
        ) from None
    except Exception as error:  # noqa: BLE001 - a damaged file raises many types of error
        first_line = str(error).partition("\n")[0] or type(error).__name__
        raise RunDirectoryError(f"{path}: cannot be read as a table: {first_line}") from None


# -- MLflow


@contextmanager
def _asking(tracking_uri: str) -> Iterator[None]:
    """Send each request to MLflow once, and turn every failure into one message."""
    settings = {
        "MLFLOW_HTTP_REQUEST_MAX_RETRIES": "0",  # it would retry for minutes
        "MLFLOW_HTTP_REQUEST_TIMEOUT": os.environ.get("MLFLOW_HTTP_REQUEST_TIMEOUT", _REQUEST_S),
        "MLFLOW_ENABLE_ARTIFACTS_PROGRESS_BAR": "false",
    }
    before = {name: os.environ[name] for name in settings if name in os.environ}
    os.environ.update(settings)
    try:
        yield
    except SweepError:
        raise
    except Exception as error:  # noqa: BLE001 - a server's answer may raise any error
        raise RunDirectoryError(
            f"{shown(tracking_uri)}: MLflow cannot be read: {reason_of(error, tracking_uri)}",
            "is it running, and the URI that the run printed?",
        ) from None
    finally:
        for name in settings:
            del os.environ[name]
        os.environ.update(before)


def _connected(tracking_uri: str) -> MlflowClient:
    """Return a client of a server or database that has answered."""
    uri = checked_uri(tracking_uri)
    path = sqlite_path(uri)
    if path is not None and not (path.is_file() and path.stat().st_size):  # MLflow would make one
        what = "is empty" if path.is_file() else "does not exist"
        raise RunDirectoryError(f"{path}: {what}", "give the URI that the run printed")
    os.environ.setdefault("MLFLOW_DISABLE_TELEMETRY", "true")
    from mlflow.tracking import MlflowClient

    client = MlflowClient(uri)
    client.search_experiments(max_results=1)
    return client


def _parent(client: MlflowClient, source: str) -> Run:
    """Return the parent run of an id, or of the latest sweep of an experiment."""
    if len(source) == 32 and set(source) <= set("0123456789abcdef"):
        run = client.get_run(source)
        parent = run.data.tags.get(content.PARENT_TAG)
        if content.SWEEP_TAG in run.data.tags and parent is None:
            return run
        hint = f"its parent is {parent}" if parent else "no sweep wrote it"
        raise RunDirectoryError(f"MLflow run {source}: is not the parent run of a sweep", hint)
    experiment = client.get_experiment_by_name(source)
    if experiment is None:
        known = [one.name for one in client.search_experiments()]
        raise RunDirectoryError(
            f"MLflow has no experiment {source!r}{nearest(source, known)}",
            f"experiments: {', '.join(known)}",
        )
    ids, of_parents = [experiment.experiment_id], "tags.`sweep.run_dir` != ''"
    newest_first = ["attributes.start_time DESC"]
    for run in client.search_runs(ids, of_parents, max_results=1, order_by=newest_first):
        return run
    raise RunDirectoryError(
        f"MLflow's experiment {source!r} holds no sweep: its runs, if any, are of other programs",
        "give the experiment that the run printed, or the id of its parent run",
    )
