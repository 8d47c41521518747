"""The figures that two runs are compared by: the speed and the accuracy, with their tolerances."""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np
import pandas as pd

from orchestrator.analysis.comparison.changes import Figure, Stages, together_by_stage
from orchestrator.analysis.comparison.estimates import Floats, Sample, changes_of
from orchestrator.analysis.rule import Rule
from orchestrator.analysis.statistics.common_change import Estimates, own_changes
from orchestrator.metrics import Objective, is_accuracy
from orchestrator.storage.sweep_record import SweepRecord


def stages_of(rows: pd.DataFrame) -> Stages:
    """Return the stage of each row."""
    return rows["stage"].to_numpy(dtype=np.object_)


def speed_figure(pairs: pd.DataFrame, rule: Rule, tolerance: float) -> Figure:
    """Return the changes of the speed, as logarithms of ratios.

    Args:
        pairs: From :func:`~orchestrator.analysis.comparison.pairs.paired_speeds`.
        rule: The rule of the sweep, which names the speed.
        tolerance: Share of the speed that a config may lose.
    """
    stages = stages_of(pairs)
    first, second = _samples(pairs, ("log", "variance", "runs"))
    rows = _turned(changes_of(first, second, stages), rule.speed)
    limits = np.full(len(pairs), -math.log1p(-tolerance))
    return Figure(
        metric=rule.speed.metric,
        is_ratio=True,
        limits=limits,
        rows=rows,
        own=own_by_stage(rows, stages),
        together=together_by_stage(rows, stages, limits),
    )


def accuracy_figure(pairs: pd.DataFrame, rule: Rule, sweep: SweepRecord) -> Figure:
    """Return the changes of the accuracy, as differences; the tolerance is the sweep's own.

    No host makes a config learn less, so that no own change is asked for.
    """
    stages = stages_of(pairs)
    first, second = _samples(pairs, ("accuracy", "spread", "trained"))
    rows = _turned(changes_of(first, second, stages), rule.accuracy)
    limits = _tolerated(rule.accuracy, sweep, first.means)
    return Figure(
        metric=rule.accuracy.metric,
        is_ratio=False,
        limits=limits,
        rows=rows,
        own=None,
        together=together_by_stage(rows, stages, limits),
    )


def own_by_stage(rows: Estimates, stages: Stages) -> Estimates:
    """Return each config's change beyond that of the others of its stage."""
    cells = np.full((3, len(rows)), np.nan)
    for stage in dict.fromkeys(stages):
        own = own_changes(rows[stages == stage])
        cells[:, stages == stage] = own.logs, own.variances, own.df
    return Estimates(logs=cells[0], variances=cells[1], df=cells[2])


def _samples(pairs: pd.DataFrame, names: tuple[str, str, str]) -> tuple[Sample, Sample]:
    """Return the runs of either side, of the columns of mean, variance and number of runs."""
    first, second = (
        [pairs[f"{name}_{side}"].to_numpy(dtype=np.float64, na_value=np.nan) for name in names]
        for side in ("first", "second")
    )
    return (
        Sample(means=first[0], variances=first[1], num_runs=np.nan_to_num(first[2])),
        Sample(means=second[0], variances=second[1], num_runs=np.nan_to_num(second[2])),
    )


def _turned(changes: Estimates, objective: Objective) -> Estimates:
    """Return the changes with those for the better positive."""
    return replace(changes, logs=objective.sign * changes.logs)


def _tolerated(accuracy: Objective, sweep: SweepRecord, levels: Floats) -> Floats:
    """Return how far each accuracy may fall: by the objective, else by the sweep."""
    tolerance, is_relative = accuracy.tolerance, accuracy.relative
    if tolerance is None:
        is_relative = not is_accuracy(accuracy.metric)
        tolerance = sweep.rigor.tie_margin if is_relative else sweep.rigor.accuracy_tolerance
    return tolerance * (np.abs(levels) if is_relative else np.ones(len(levels)))
