"""A run: load it, its columns, configs, front, recommendation; compare it; export its tables."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Final

import numpy as np
import pandas as pd

from orchestrator.analysis.api.checks import (
    Source,
    checked_configs,
    checked_trials,
    labelled,
    objectives_of,
    run_of,
)
from orchestrator.analysis.api.meanings import meaning_of
from orchestrator.analysis.columns import TableError
from orchestrator.analysis.comparison.changes import TOLERANCE
from orchestrator.analysis.comparison.compare import Comparison
from orchestrator.analysis.comparison.compare import compare as compare_runs
from orchestrator.analysis.findings.findings import Findings, findings
from orchestrator.analysis.statistics import pareto
from orchestrator.analysis.tables.load import load_run
from orchestrator.analysis.tables.run_tables import RunTables
from orchestrator.errors import nearest, refusing_os_errors
from orchestrator.metrics import Objective
from orchestrator.storage.files import replace_file

FORMATS: Final = ("csv", "parquet")

load = load_run


def describe(source: Source, *, run: RunTables | None = None) -> pd.DataFrame:
    """Describe the columns of a run's trials, or of a frame.

    Args:
        source: A run; or a frame of one, with ``run``.
        run: The run of a frame, for its knobs' units and meanings.

    Returns:
        One row a column: ``column``; ``kind`` (``knob``, ``metric``, ``tag`` or ``trial``);
        ``role`` of a knob (``systems``, ``learning`` or ``both``); ``unit``; ``meaning``;
        ``num_measured``, cells that are known; ``num_values``, how many differ.

    Raises:
        TableError: A frame came without its run.
    """
    tables = run_of(source, run, "describe")
    frame = tables.trials if isinstance(source, RunTables) else source
    known = [frame[column].dropna() for column in frame.columns]
    rows = [
        meaning_of(str(column), tables)
        | {"num_measured": len(cells), "num_values": cells.map(str).nunique()}
        for column, cells in zip(frame.columns, known, strict=True)
    ]
    columns = ["column", "kind", "role", "unit", "meaning", "num_measured", "num_values"]
    return pd.DataFrame(rows, columns=columns)


def configs(source: Source, *, run: RunTables | None = None) -> pd.DataFrame:
    """Return the configs that completed, with repeats combined.

    Only runs of stage ``train`` select, so configs are compared by these. The
    figures are means over clean runs; see
    :func:`orchestrator.analysis.statistics.by_config.by_config`.

    Args:
        source: A run; or rows of its ``trials``, with ``run``.
        run: The run of a frame.

    Returns:
        One row a config: ``params.*``; ``group`` of rows that may be ranked together;
        ``metrics.*``; the speed's 95 % interval as ``_low`` and ``_high``, and ``interval``, what
        it is over; ``num_runs``; ``verdict`` against the best (``best``, ``tied``, ``worse``,
        ``unresolved``, empty if a condition is not met) with ``ratio_to_best``; ``on_front``.
        An empty frame if nothing completed. The frame remembers the run's objectives.

    Raises:
        TableError: A frame came without its run, lacks a knob, or has a trial twice.
        SweepError: The sweep's objectives state no rule.
    """
    tables = run_of(source, run, "configs")
    if isinstance(source, pd.DataFrame):
        tables = replace(tables, trials=checked_trials(source, tables, "configs"))
    return labelled(tables.ranked, tables.sweep)


def pareto_front(
    source: Source, objectives: str | Objective | Sequence[str | Objective] | None = None
) -> pd.DataFrame:
    """Return the configs that no other config beats in every objective.

    A config is off the front if another config is at least as good in every objective and better
    in one. Each ``group`` of comparable rows has its own front. Configs that lack an objective, or
    miss a bound, are on none.

    Args:
        source: A run, or a frame of configs: its :func:`configs`, filtered or with columns added.
        objectives: One to three names or ``an.maximize(...)``, ``an.minimize(...)``, of
            ``metrics.<name>`` or of any other column. None: the objectives of the frame's run.

    Returns:
        The rows of the front, all columns; the best of the first objective first, in each group.

    Raises:
        TableError: The frame has trials, its objectives are not known, or it lacks one.

    Source: Kung, Luccio and Preparata, "On finding the maxima of a set of vectors", 1975, as
    as implemented in moocore.
    """
    if isinstance(source, RunTables):
        source = configs(source)
    frame = checked_configs(source, "pareto_front")
    asked = objectives_of(objectives, frame, "pareto_front")
    if all(objective.bound is not None for objective in asked):
        raise TableError("pareto_front: every objective has a bound: none is to be improved")
    return pareto.in_order(frame[pareto.pareto_front(frame, asked)], asked)


def recommend(run: RunTables) -> Findings:
    """Recommend a config by the rule of the run's sweep.

    Args:
        run: A run.

    Returns:
        ``config``, a value for every knob, None if nothing can be recommended; the answer's
        ``sentence``, ``why`` this config and ``how_sure`` the speed-up is; ``speedup`` over the
        baseline with its 95 % interval; ``figures`` of the config by metric; ``notes``, its
        weaknesses. See :class:`~orchestrator.analysis.findings.findings.Findings`.

    Raises:
        SweepError: The sweep's objectives state no rule.
    """
    return findings(run)


def compare(
    first: RunTables,
    second: RunTables,
    *,
    tolerance: float = TOLERANCE,
    across: tuple[str, ...] = (),
) -> Comparison:
    """Compare two runs of a sweep config by config, and determine whether anything got worse.

    Args:
        first: The run from which changes are counted.
        second: The other run.
        tolerance: Share of the speed that a config may lose before that is a regression. The
            tolerance of the accuracy is the sweep's own.
        across: Keys of the environment that may differ, since they are what is compared.

    Returns:
        ``verdict`` (``regression``, ``improvement``, ``no change beyond the tolerance`` or ``not
        decided``) and its ``sentence``; ``changes``, a row a figure, stage and config, with its
        95 % interval; ``table``, a row a config and stage with the figures of both runs. See
        :class:`~orchestrator.analysis.comparison.compare.Comparison`.

    Raises:
        SweepError: The machines, versions or data differ, no config is in both, or the tolerance
            is no share.
    """
    return compare_runs(first, second, tolerance=tolerance, across=across)


def export(
    source: Source, folder: str | Path, format: str = "csv", *, name: str = "table"
) -> list[Path]:
    """Write a run's tables, or a frame, into a folder.

    For a run: ``trials``, ``configs``, ``front``, ``curves``, ``steps``, ``columns`` (unit and
    meaning of each column) and, for a factored search, ``candidates``. Files of these names are
    replaced.

    In ``csv`` a list or tuple is JSON text, ``["a", "b"]``; in ``parquet`` it is a list.

    Args:
        source: A run, or a frame.
        folder: The folder to write to; it is created.
        format: ``csv`` or ``parquet``.
        name: For a frame: the file's name without its ending.

    Returns:
        The files that were written.

    Raises:
        TableError: The format is unknown.
        SweepError: The folder cannot be written.
    """
    if format not in FORMATS:
        raise TableError(
            f"export: unknown format {format!r}{nearest(str(format), FORMATS)}",
            f"formats: {', '.join(FORMATS)}",
        )
    tables = _tables_of(source, name)
    folder = Path(folder)
    with refusing_os_errors("another folder is given by --out DIR on the command line"):
        folder.mkdir(parents=True, exist_ok=True)
        return [_write(folder / f"{title}.{format}", table) for title, table in tables.items()]


def _tables_of(run: Source, name: str) -> dict[str, pd.DataFrame]:
    if not isinstance(run, RunTables):
        return {name: run}
    made = configs(run)
    tables = {
        "trials": run.trials,
        "configs": made,
        "front": pareto_front(made),
        "curves": run.curves,
        "steps": run.steps,
        "columns": describe(run),
    }
    return tables | ({"candidates": run.candidates} if len(run.candidates) else {})


def _write(path: Path, table: pd.DataFrame) -> Path:
    """Write a table without its index; tuples as lists, which Arrow and JSON have."""
    is_csv = path.suffix == ".csv"

    def converted(cell: object) -> object:
        if not isinstance(cell, (list, tuple, np.ndarray)):
            return cell
        return json.dumps(list(cell), default=str) if is_csv else list(cell)

    names = [str(n) for n, kind in table.dtypes.items() if pd.api.types.is_object_dtype(kind)]
    table = table.assign(**{name: table[name].map(converted) for name in names})
    write = table.to_csv if is_csv else table.to_parquet
    replace_file(path, lambda to: write(to, index=False))
    return path
