"""The Pareto front of configs, and the volume that it dominates."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
import pandas as pd

from orchestrator.analysis.api.checks import (
    Source,
    checked_configs,
    objectives_of,
    remembered,
)
from orchestrator.analysis.api.runs import configs as configs_of_run
from orchestrator.analysis.columns import TableError
from orchestrator.analysis.comparable import GROUP
from orchestrator.analysis.rule import Rule
from orchestrator.analysis.statistics import pareto
from orchestrator.analysis.tables.run_tables import RunTables
from orchestrator.metrics import Objective

Objectives = Sequence[str | Objective]
Floats = pareto.Floats


def pareto_front(source: Source, objectives: Objectives | None = None) -> pd.DataFrame:
    """Return the configs that no other one beats in every objective.

    A config is off the front where another one is at least as good in every objective and better
    in one. Each ``group`` of comparable rows has its own front. Configs that lack an objective, or
    miss a bound, are on none.

    Args:
        source: A run, or a frame of configs: :func:`configs` of it, filtered or with columns added.
        objectives: One to three names or ``an.maximize(...)``, ``an.minimize(...)``, of
            ``metrics.<name>`` or of any other column. None: those of the frame's run.

    Returns:
        The rows of the front, all columns; the best of the first objective first, in each group.

    Raises:
        TableError: The frame is one of trials, its objectives are not known, or it lacks one.

    Source: Kung, Luccio and Preparata, "On finding the maxima of a set of vectors", 1975, as
    moocore has it.
    """
    frame = _frame(source, "pareto_front")
    asked = objectives_of(objectives, frame, "pareto_front")
    held = frame[_within_bounds(frame, asked)]
    goals = _directions(asked, "pareto_front")
    points = pareto.points_of(held, goals)
    on_front = np.zeros(len(held), dtype=np.bool_)
    groups = _groups(held)
    for name in groups.unique():
        rows = np.flatnonzero((groups == name).to_numpy() & ~np.isnan(points).any(axis=1))
        on_front[rows] = pareto.front_of_points(points[rows])
    order = np.lexsort((-points[on_front, 0], pd.factorize(groups[on_front])[0]))
    return held[on_front].iloc[order]


def hypervolume(
    source: Source,
    objectives: Objectives | None = None,
    reference: Mapping[str, float] | Sequence[float] | None = None,
) -> float:
    """Return the volume of the objectives' space that configs dominate beyond a reference point.

    One figure for a whole front: larger is better. Figures compare only where their reference is
    the same. A config that is not better than the reference in every objective adds nothing.

    Args:
        source: A run, or a frame of configs.
        objectives: As in :func:`pareto_front`. Those with a bound limit the configs alone.
        reference: A figure for each objective, by name or in order. None: the worst figure among
            all configs of the run, however the frame was filtered since, and a tenth of their range
            beyond it, so that the ends of a front count
            (:func:`orchestrator.analysis.statistics.pareto.reference_point`).

    Returns:
        The volume, in the product of the objectives' units.

    Raises:
        TableError: As :func:`pareto_front`; no reference is known, or it lacks an objective; the
            rows are of several groups, which are not comparable.

    Source: Zitzler and Thiele, "Multiobjective evolutionary algorithms", IEEE Transactions on
    Evolutionary Computation 3, 1999, as moocore has it.
    """
    frame = _frame(source, "hypervolume")
    asked = objectives_of(objectives, frame, "hypervolume")
    if isinstance(source, RunTables):
        frame = frame[frame[GROUP] == source.main_group]
    groups = _groups(frame).unique()
    if len(groups) > 1:
        raise TableError(
            f"hypervolume: rows of {len(groups)} groups are not comparable: {'; '.join(groups)}",
            "filter one: frame[frame['group'] == ...]",
        )
    goals = _directions(asked, "hypervolume")
    points = pareto.points_of(frame[_within_bounds(frame, asked)], goals)
    points = points[~np.isnan(points).any(axis=1)]
    if len(points) == 0:
        return 0.0
    signs = np.array([goal.sign for goal in goals])
    limit = signs * _reference(reference, goals, frame, isinstance(source, RunTables))
    return pareto.hypervolume(points, limit)


def _frame(source: Source, function: str) -> pd.DataFrame:
    if isinstance(source, RunTables):
        return configs_of_run(source)
    return checked_configs(source, function)


def _groups(frame: pd.DataFrame) -> pd.Series[str]:
    if GROUP in frame.columns:
        return frame[GROUP].astype("str")
    return pd.Series("all", index=frame.index, dtype="str")


def _directions(asked: Sequence[Objective], function: str) -> list[Objective]:
    goals = [objective for objective in asked if objective.bound is None]
    if not goals:
        raise TableError(f"{function}: every objective has a bound: none is to be improved")
    return goals


def _within_bounds(frame: pd.DataFrame, asked: Sequence[Objective]) -> pd.Series[bool]:
    bounded = tuple(objective for objective in asked if objective.bound is not None)
    if not bounded:
        return pd.Series(True, index=frame.index)
    return Rule(objectives=bounded).within_bounds(frame)


def _reference(
    given: Mapping[str, float] | Sequence[float] | None,
    goals: Sequence[Objective],
    frame: pd.DataFrame,
    is_run: bool,
) -> Floats:
    """Return a figure for each objective, in its own direction."""
    names = [goal.metric for goal in goals]
    if given is None:
        own = remembered(frame)[1]
        given = (pareto.reference_point(frame, goals) if is_run else {}) | own
    if not isinstance(given, Mapping):
        if len(given) != len(names):
            raise TableError(
                f"hypervolume: reference has {len(given)} figures for {len(names)} objectives",
                f"one each, in this order: {', '.join(names)}",
            )
        given = dict(zip(names, given, strict=True))
    missing = [name for name in names if name not in given]
    if missing:
        raise TableError(
            f"hypervolume: no reference is known for {missing[0]}",
            f"give the worst figure that counts: reference={{{missing[0]!r}: ...}}",
        )
    return np.array([float(given[name]) for name in names])
