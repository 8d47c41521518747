"""Load a run; its columns; its configs, with repeats made one."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import pandas as pd

from orchestrator.analysis.api.checks import Source, checked_trials, labelled, run_of
from orchestrator.analysis.api.meanings import meaning_of
from orchestrator.analysis.columns import TableError
from orchestrator.analysis.tables.load import Source as Place
from orchestrator.analysis.tables.load import load_run
from orchestrator.analysis.tables.run_tables import RunTables
from orchestrator.errors import RunDirectoryError


def load(source: Place, tracking_uri: str | None = None) -> RunTables:
    """Load a run from its directory or from MLflow, into the same frames.

    Args:
        source: A run directory, ``runs/<sweep>/<time>``. With ``tracking_uri``: the id of a
            sweep's parent run, or an experiment's name, which stands for its latest sweep.
        tracking_uri: The MLflow server or database to read from.

    Returns:
        The run: ``trials`` (a row a trial), ``curves`` (a row a report), ``steps`` (a row a block
        of steps) and ``sweep`` (what was asked).

    Raises:
        RunDirectoryError: There is no such run, or it cannot be read.
        TableError: The source is neither a path nor a name.
    """
    if not isinstance(source, (str, Path)):
        raise TableError(f"load: takes a path or a name, not a {type(source).__name__}")
    try:
        return load_run(source, tracking_uri)
    except RunDirectoryError as error:
        if tracking_uri is not None or Path(source).exists():
            raise
        raise RunDirectoryError(
            error.message, f"{error.hint}; where MLflow has it: tracking_uri='sqlite:///...'"
        ) from None


def describe(source: Source, *, run: RunTables | None = None) -> pd.DataFrame:
    """Describe the columns of a run's trials, or of a frame.

    Args:
        source: A run; or a frame of one, with ``run``.
        run: The run that a frame is of: its knobs' units and meanings.

    Returns:
        One row a column: ``column``; ``kind`` (``knob``, ``metric``, ``tag`` or ``trial``);
        ``role`` of a knob (``systems``, ``learning`` or ``both``); ``unit``; ``meaning``;
        ``num_measured``, cells that are known; ``num_values``, how many differ.

    Raises:
        TableError: A frame came without its run.
    """
    tables = run_of(source, run, "describe")
    frame = tables.trials if isinstance(source, RunTables) else source
    rows = [
        meaning_of(str(column), tables)
        | {
            "num_measured": int(frame[column].notna().sum()),
            "num_values": _num_values(frame[column]),
        }
        for column in frame.columns
    ]
    columns = ["column", "kind", "role", "unit", "meaning", "num_measured", "num_values"]
    return pd.DataFrame(rows, columns=columns)


def _num_values(cells: pd.Series[Any]) -> int:
    try:
        return int(cells.nunique())
    except TypeError:  # lists
        return int(cells.dropna().astype("str").nunique())


def configs(source: Source, *, run: RunTables | None = None) -> pd.DataFrame:
    """Return the configs that completed, repeats made one.

    Only runs of stage ``train`` select, so that these are what configs are compared by. The
    figures are means over clean runs; see
    :func:`orchestrator.analysis.statistics.by_config.by_config`.

    Args:
        source: A run; or rows of its ``trials``, with ``run``.
        run: The run that a frame is of.

    Returns:
        One row a config: ``params.*``; ``group``, rows of which may be ranked together;
        ``metrics.*``; the speed's 95 % interval as ``_low`` and ``_high``, and ``interval``, what
        it is over; ``num_runs``; ``verdict`` against the best (``best``, ``tied``, ``worse``,
        ``unresolved``, empty where a condition is not held) with ``ratio_to_best``; ``on_front``.
        An empty frame where nothing completed. The frame remembers the run's objectives.

    Raises:
        TableError: A frame came without its run, lacks a knob, or is not of this run's trials.
        SweepError: The sweep's objectives state no rule.
    """
    tables = run_of(source, run, "configs")
    if isinstance(source, pd.DataFrame):
        trials = checked_trials(source, tables, "configs").reset_index(drop=True)
        tables = replace(tables, trials=trials)
    return labelled(tables.ranked, tables.sweep)
