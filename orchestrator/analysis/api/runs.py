"""A run: load it, its columns, configs, front, recommendation; export its tables."""

import json
from collections.abc import Sequence
from functools import partial
from pathlib import Path
from typing import Final

import pandas as pd

from orchestrator.analysis.columns import TableError, write_csv
from orchestrator.analysis.findings.findings import Findings, findings
from orchestrator.analysis.statistics import pareto
from orchestrator.analysis.tables import checks
from orchestrator.analysis.tables.load import load_run
from orchestrator.analysis.tables.run_tables import RunTables
from orchestrator.errors import nearest, refusing_os_errors
from orchestrator.formats import listed
from orchestrator.metric_table import METRICS
from orchestrator.metrics import Objective
from orchestrator.storage.files import replace_file
from orchestrator.trial import Stage, TrialState

FORMATS: Final = ("csv", "parquet")

_MEANINGS: Final = {
    "trial_id": "name of the trial, the same when a run is resumed",
    "stage": f"purpose of the trial: {listed(list(Stage), 'or')}",
    "state": f"how it ended: {listed(list(TrialState), 'or')}",
    "reason": "why it did not complete",
    "seed": "seed of the trial",
    "repeat": "number of the run among those of its config and stage",
    "data": "data set",
    "node": "machine that it ran on",
    "device": "cpu, or the GPUs' names",
    "cores": "cores that it had",
    "isolation": "exclusive: the node to itself; leased: cores of its own; shared: neither",
    "started_at": "time of its last start",
    "wall_s": "time from the start of its process to its end",
    "curve": "learning curve that it is a part of, where that was paused",
    "step": "optimizer steps so far",
    "epoch": "epochs so far",
    "samples": "training samples so far",
    "elapsed_s": "time since its process began",
    "first_step": "first step of the block",
    "num_steps": "steps of the block",
    "duration_s": "duration of the block",
    "dropped": "why the block counts for no rate; empty where it counts",
    "group": "conditions that rows are comparable under; ranked within one only",
    "num_runs": "runs that the speed is of",
    "num_all_runs": "runs that the accuracy is of",
    "num_left_out": "contaminated runs that the speed is not of",
    "num_lost": "runs of the config that were infeasible or failed",
    "trial_ids": "trials of the config",
    "timed_ids": "trials that the speed is of",
    "curve_ids": "trials that a composed accuracy is of",
    "contaminated": "true where the runs that the speed is of had foreign load",
    "variance": "variance of the mean log speed over fresh runs",
    "df": "degrees of freedom of the variance",
    "interval": "what the speed's interval is over",
    "composed": "true where the config was not itself trained and probed",
    "verdict": "best, tied, worse or unresolved against the best; empty: not acceptable",
    "ratio_to_best": "speed over that of the best",
    "ratio_low": "its 95 % interval over all configs together, low end",
    "ratio_high": "its 95 % interval over all configs together, high end",
    "on_front": "true where no other config of its group beats it in every objective",
    "tags.bound": "part of a step that it waits for most: loader, transfer, compute or host",
    "tags.contaminated": "foreign load on its cores, and how much; `false`: none; empty: not known",
    "tags.oversubscribed": "more processes than cores",
    "tags.interval": "`narrow` or `wide`: the interval of the speed within the run",
    "tags.interval_over": "what the interval of the row's speed is over",
    "tags.warm_up": "time and share of the slower steps at the start that its speed is not of",
    "tags.slow_start": "the same where it is more than a warm-up: the run counts as contaminated",
    "tags.rate": "steady: over steady steps; epochs: over whole epochs, which are too short",
    "tags.idle": "knobs without an effect in this config",
    "tags.interleaved": "true where it shared its cores in time slices with the runs of its round",
    "tags.no_ceilings": "why no ceilings were measured",
    "tags.batches": "hash of the first batches; the same where only systems knobs differ",
    "tags.core_ids": "cores of the trial",
    "tags.rerun": "why it was run again, and what became of that",
    "tags.attempts": "runs of the trial, retries included",
    "tags.gpus": "its GPUs by UUID",
    "tags.gpu_settings": "driver and power limit of its GPUs",
    "tags.throttled": "why a GPU was slowed",
    "tags.cpu_model": "processor of its node",
    "tags.clocks": "how the processor's clocks are governed",
    "tags.versions": "versions of what runs inside a step",
    "tags.allocator": "memory allocator of its process",
    "tags.threads": "threads as torch had them at the end",
    "tags.deterministic": "deterministic algorithms as torch had them at the end",
}
"""Meaning of each column that is neither a knob nor a metric."""

_UNITS: Final = {"started_at": "UTC", "wall_s": "s", "elapsed_s": "s", "duration_s": "s"}

load = load_run


def recommend(run: RunTables, *, where: pd.DataFrame | None = None) -> Findings:
    """Return the findings of a run, or of some rows of its ``trials``: what a budget would pick."""
    trials = run.trials if where is None else where
    return findings(run.only(run.trials["trial_id"].isin(trials["trial_id"])))


def describe(run: RunTables, frame: pd.DataFrame | None = None) -> pd.DataFrame:
    """Describe the columns of a run's trials, or of another frame of it.

    Args:
        run: A run.
        frame: Its frame, such as ``an.configs(run)``; None: its trials.

    Returns:
        One row a column: ``column``; ``kind`` (``knob``, ``metric``, ``tag`` or ``trial``);
        ``role`` of a knob (``systems``, ``learning`` or ``both``); ``unit``; ``meaning``;
        ``num_measured``, cells that are known; ``num_values``, how many differ.
    """
    frame = run.trials if frame is None else frame
    known = [frame[column].dropna() for column in frame.columns]
    rows = [
        _meaning_of(str(column), run)
        | {"num_measured": len(cells), "num_values": cells.map(str).nunique()}
        for column, cells in zip(frame.columns, known, strict=True)
    ]
    columns = ["column", "kind", "role", "unit", "meaning", "num_measured", "num_values"]
    return pd.DataFrame(rows, columns=columns)


def _meaning_of(column: str, run: RunTables) -> dict[str, str]:
    prefix, _, name = column.partition(".")
    kind, role, unit = "trial", "", _UNITS.get(column, "")
    meaning = _MEANINGS.get(column, "")
    if prefix == "params":
        kind = "knob"
        if name in run.sweep.knobs:
            knob = run.sweep.knobs[name]
            role, unit, meaning = str(run.roles[name]), knob.unit, knob.doc
    elif prefix == "metrics":
        kind, meaning = "metric", "reported by the trainable"
        base = name.removesuffix("_low").removesuffix("_high")
        if name in METRICS:
            unit, meaning = METRICS[name].unit, METRICS[name].doc
        elif base in METRICS:
            end = name.removeprefix(f"{base}_")
            unit, meaning = METRICS[base].unit, f"95 % interval of {base}, {end} end"
    elif prefix == "tags":
        kind, meaning = "tag", meaning or "set by the trainable"
    return {"column": column, "kind": kind, "role": role, "unit": unit, "meaning": meaning}


def configs(run: RunTables) -> pd.DataFrame:
    """Return the configs that completed, with repeats combined.

    Only runs of stage ``train`` select, so configs are compared by these. The
    figures are means over clean runs; see
    :func:`orchestrator.analysis.statistics.by_config.by_config`.

    Args:
        run: A run; ``run.only(...)`` is one of some of its trials.

    Returns:
        One row a config: ``params.*``; ``group`` of rows that may be ranked together;
        ``metrics.*``; the speed's 95 % interval as ``_low`` and ``_high``, and ``interval``, what
        it is over; ``num_runs``; ``verdict`` against the best (``best``, ``tied``, ``worse``,
        ``unresolved``, empty if a condition is not met) with ``ratio_to_best``; ``on_front``.
        An empty frame if nothing completed. The frame remembers the run's objectives.
    """
    return checks.labelled(run.ranked, run.sweep)


def pareto_front(
    source: RunTables | pd.DataFrame,
    objectives: str | Objective | Sequence[str | Objective] | None = None,
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
    frame = configs(source) if isinstance(source, RunTables) else source
    if "trial_id" in frame.columns:
        raise TableError(
            "pareto_front: takes a frame of configs, this one has a row a trial: repeats would "
            "count as configs",
            "an.pareto_front(an.configs(run))",
        )
    asked = checks.objectives_of(objectives, frame, "pareto_front")
    if all(objective.bound is not None for objective in asked):
        raise TableError("pareto_front: every objective has a bound: none is to be improved")
    return pareto.in_order(frame[pareto.pareto_front(frame, asked)], asked)


def export(run: RunTables, folder: str | Path, format: str = "csv") -> list[Path]:
    """Write a run's tables into a folder.

    They are ``trials``, ``configs``, ``front``, ``curves``, ``steps``, ``columns`` (unit and
    meaning of each column) and, for a factored search, ``candidates``. Files of these names are
    replaced.

    In ``csv`` a list or tuple is JSON text, ``["a", "b"]``; in ``parquet`` it is a list.

    Args:
        run: A run.
        folder: The folder to write to; it is created.
        format: ``csv`` or ``parquet``.

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
    made = configs(run)
    tables = {
        "trials": run.trials,
        "configs": made,
        "front": pareto_front(made),
        "curves": run.curves,
        "steps": run.steps,
        "columns": describe(run),
    }
    if run.is_composed:
        tables["candidates"] = run.candidates
    folder = Path(folder)
    with refusing_os_errors("another folder is given by --out DIR on the command line"):
        folder.mkdir(parents=True, exist_ok=True)
        return [_write(folder / f"{title}.{format}", table) for title, table in tables.items()]


def _write(path: Path, table: pd.DataFrame) -> Path:
    """Write a table without its index; tuples as lists, which Arrow and JSON have."""
    is_csv = path.suffix == ".csv"

    def converted(cell: object) -> object:
        if not isinstance(cell, tuple):
            return cell
        return json.dumps(cell) if is_csv else list(cell)

    names = [str(n) for n, kind in table.dtypes.items() if pd.api.types.is_object_dtype(kind)]
    table = table.assign(**{name: table[name].map(converted) for name in names})
    write = write_csv if is_csv else partial(pd.DataFrame.to_parquet, index=False)
    replace_file(path, partial(write, table))
    return path
