"""A run: load it, its columns, configs and front; recommend a config; compare another run."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

import pandas as pd

from orchestrator.analysis.api.checks import (
    Source,
    checked_configs,
    checked_run,
    checked_trials,
    labelled,
    objectives_of,
    run_of,
)
from orchestrator.analysis.api.meanings import meaning_of
from orchestrator.analysis.columns import Config, TableError
from orchestrator.analysis.comparison.changes import TOLERANCE
from orchestrator.analysis.comparison.compare import Comparison
from orchestrator.analysis.comparison.compare import compare as compare_runs
from orchestrator.analysis.findings.findings import Findings
from orchestrator.analysis.findings.findings import findings as findings_of
from orchestrator.analysis.recommendation.speedup import Speedup
from orchestrator.analysis.statistics import pareto
from orchestrator.analysis.tables.load import Source as Place
from orchestrator.analysis.tables.load import load_run
from orchestrator.analysis.tables.run_tables import RunTables
from orchestrator.errors import RunDirectoryError
from orchestrator.metrics import Objective


def load(source: Place, tracking_uri: str | None = None) -> RunTables:
    """Load a run from its directory or from MLflow, into the same frames.

    Args:
        source: A run directory, ``runs/<sweep>/<time>``. With ``tracking_uri``: the id of a
            sweep's parent run, or an experiment's name, for its latest sweep.
        tracking_uri: The MLflow server or database to read from.

    Returns:
        The run: ``trials`` (a row a trial), ``curves`` (a row a report), ``steps`` (a row a block
        of steps) and ``sweep`` (the request).

    Raises:
        RunDirectoryError: There is no such run, or it cannot be read.
    """
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
    is_run = isinstance(source, RunTables)
    frame = configs(source) if is_run else checked_configs(source, "pareto_front")
    asked = objectives_of(objectives, frame, "pareto_front")
    if all(objective.bound is not None for objective in asked):
        raise TableError("pareto_front: every objective has a bound: none is to be improved")
    return pareto.in_order(frame[pareto.pareto_front(frame, asked)], asked)


@dataclass(frozen=True, kw_only=True)
class Recommendation:
    """The config to use, why, and how sure that is.

    Attributes:
        config: A value for every knob; None if nothing can be recommended.
        sentence: The answer of the run.
        why: Why this config; if there is none, the reason.
        how_sure: The evidence for the speed-up.
        speedup: Over the baseline, with its 95 % interval; None if there is no config.
        figures: Figures of the config by metric, from its confirm runs if it has any,
            otherwise from the runs that selected it.
        notes: Weaknesses of the recommendation, a sentence each.
        findings: All of this as data.
    """

    config: Config | None
    sentence: str
    why: str
    how_sure: str
    speedup: Speedup | None
    figures: Mapping[str, float]
    notes: tuple[str, ...]
    findings: Findings = field(repr=False)


def recommend(run: RunTables) -> Recommendation:
    """Recommend a config by the rule of the run's sweep.

    Args:
        run: A run.

    Raises:
        TableError: ``run`` is no run: a recommendation rests on all of its trials.
        SweepError: The sweep's objectives state no rule.
    """
    found = findings_of(checked_run(run, "recommend"))
    return Recommendation(
        config=found.config,
        sentence=found.sentence,
        why=found.why,
        how_sure=found.how_sure,
        speedup=found.speedup,
        figures=found.figures,
        notes=found.notes,
        findings=found,
    )


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
        TableError: One of the two is no run.
        SweepError: The machines, versions or data differ, no config is in both, or the tolerance
            is no share.
    """
    runs = [checked_run(run, "compare") for run in (first, second)]
    return compare_runs(*runs, tolerance=tolerance, across=across)
