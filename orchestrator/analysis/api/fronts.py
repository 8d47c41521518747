"""The Pareto front of configs."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pandas as pd

from orchestrator.analysis.api.checks import (
    Source,
    checked_configs,
    objectives_of,
)
from orchestrator.analysis.api.runs import configs as configs_of_run
from orchestrator.analysis.columns import TableError
from orchestrator.analysis.comparable import GROUP
from orchestrator.analysis.rule import Rule
from orchestrator.analysis.statistics import pareto
from orchestrator.analysis.tables.run_tables import RunTables
from orchestrator.metrics import Objective

Objectives = Sequence[str | Objective]


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
