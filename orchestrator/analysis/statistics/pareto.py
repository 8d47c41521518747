"""The Pareto front, the hypervolume and the epsilon indicator, by moocore.

Front: Kung, Luccio and Preparata, "On finding the maxima of a set of vectors", Journal of the ACM
22, 1975. Hypervolume: Guerreiro and Fonseca, "Computing and updating hypervolume contributions in
up to four dimensions", IEEE Transactions on Evolutionary Computation 22, 2018.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

import moocore
import numpy as np
import numpy.typing as npt
import pandas as pd

from orchestrator.analysis.columns import TableError, metrics_of
from orchestrator.errors import nearest
from orchestrator.metrics import Objective

Mask = npt.NDArray[np.bool_]
Floats = npt.NDArray[np.float64]

_HUGE: Final = 1e300
"""Figures of this size have no volume that a float holds."""


def pareto_front(frame: pd.DataFrame, objectives: Sequence[Objective]) -> Mask:
    """Return True for the rows of a table that are on the Pareto front.

    A row dominates another where it is at least as good in every objective and better
    in one. The front holds the rows that none dominates: rows that are equal in all
    objectives are on it together or not at all. A row that lacks an objective (NaN) is
    never on it, and dominates nothing.

    Args:
        frame: One row a trial or a config, with a column ``metrics.<name>``, or ``<name>``, an
            objective.
        objectives: One, two or three.

    Returns:
        One boolean a row, in the order of the rows.

    Raises:
        ValueError: There are not one to three objectives.
        SweepError: The table has no column for an objective.
    """
    if len(objectives) not in (1, 2, 3):
        raise ValueError(f"a front has one, two or three objectives, not {len(objectives)}")
    points = points_of(frame, objectives)
    complete = ~np.isnan(points).any(axis=1)
    mask = np.zeros(len(frame), dtype=np.bool_)
    mask[complete] = front_of_points(points[complete])
    return mask


def points_of(frame: pd.DataFrame, objectives: Sequence[Objective]) -> Floats:
    """Return the objectives of each row, larger better, NaN where a row lacks one.

    Raises:
        SweepError: The table has no column for an objective.
    """
    return np.column_stack([_larger_is_better(frame, objective) for objective in objectives])


def front_of_points(points: Floats) -> Mask:
    """Return the front of plain points, one row each, larger better, none of them NaN."""
    if len(points) == 0:
        return np.zeros(0, dtype=np.bool_)
    if not np.isfinite(points).all():  # moocore 0.3.2 crashes; the order alone makes the front
        points = np.column_stack([np.unique(column, return_inverse=True)[1] for column in points.T])
    front = moocore.is_nondominated(points, maximise=True, keep_weakly=True)
    return np.asarray(front, dtype=np.bool_)


def hypervolume(points: Floats, reference: Sequence[float] | Floats) -> float:
    """Return the volume that points dominate beyond a reference point, larger better.

    In the product of the units of the coordinates. A point that is not better than the reference
    in every coordinate adds nothing; 0 without points.
    """
    limit = np.asarray(reference, dtype=np.float64)
    beyond = points[(points > limit).all(axis=1)]
    if len(beyond) == 0:
        return 0.0
    if not (np.abs([*beyond, limit]) < _HUGE).all():  # moocore 0.3.2 crashes
        return float("inf")
    return float(moocore.hypervolume(beyond, ref=limit, maximise=True))


def epsilon(points: Floats, front: Floats) -> float:
    """Return the multiplicative epsilon indicator of points against a front, less 1.

    The factor by which the points must be raised, at worst, to reach each point of the front
    (Zitzler et al., "Performance assessment of multiobjective optimizers", IEEE Transactions on
    Evolutionary Computation 7, 2003). All coordinates are above 0, larger better; infinity
    without points.
    """
    if len(points) == 0:
        return float("inf")
    return float(moocore.epsilon_mult(points, ref=front, maximise=True)) - 1


def _larger_is_better(frame: pd.DataFrame, objective: Objective) -> Floats:
    column = f"metrics.{objective.metric}"
    if column not in frame.columns and objective.metric in frame.columns:
        column = objective.metric
    if column not in frame.columns:
        known = [name.removeprefix("metrics.") for name in metrics_of(frame)]
        raise TableError(
            f"the table has no figure {objective.metric!r}{nearest(objective.metric, known)}",
            f"figures: {', '.join(known)}",
        )
    values = frame[column].to_numpy(dtype=np.float64, na_value=np.nan)
    return np.asarray(objective.sign * values, dtype=np.float64)
