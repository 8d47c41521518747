"""The Pareto front, by moocore.

Source: Kung, Luccio and Preparata, "On finding the maxima of a set of vectors", Journal of the ACM
22, 1975.
"""

from collections.abc import Sequence

import moocore
import numpy as np
import numpy.typing as npt
import pandas as pd

from orchestrator.analysis.comparable import GROUP
from orchestrator.analysis.rule import column_of, reaches
from orchestrator.analysis.statistics.intervals import Floats
from orchestrator.metrics import Objective

Mask = npt.NDArray[np.bool_]


def pareto_front(frame: pd.DataFrame, objectives: Sequence[Objective]) -> Mask:
    """Return True for the rows of a table that are on the Pareto front of their group.

    A row dominates another if it is at least as good in every objective and better in one. Rows
    that are equal in all objectives are on the front together or not at all. A row that lacks an
    objective (NaN), or misses a bound, is never on it, and dominates nothing.

    Args:
        frame: One row a trial or a config, with a column ``metrics.<name>``, or ``<name>``, for
            each objective; with ``group`` each group has its own front.
        objectives: One, two or three, not all of them bounds.
    """
    points = points_of(frame, [each for each in objectives if each.bound is None])
    complete = ~np.isnan(points).any(axis=1)
    for each in objectives:
        if each.bound is not None:
            complete &= reaches(each, _figures(frame, each), each.bound).to_numpy()
    groups = frame[GROUP].to_numpy() if GROUP in frame.columns else np.zeros(len(frame))
    mask = np.zeros(len(frame), dtype=np.bool_)
    for group in pd.unique(groups):
        rows = np.flatnonzero((groups == group) & complete)
        mask[rows] = front_of_points(points[rows])
    return mask


def in_order(front: pd.DataFrame, objectives: Sequence[Objective]) -> pd.DataFrame:
    """Return rows by group, the best of the first objective to be improved first."""
    first = next(each for each in objectives if each.bound is None)
    groups = pd.factorize(front[GROUP])[0] if GROUP in front.columns else np.zeros(len(front))
    return front.iloc[np.lexsort((-points_of(front, [first])[:, 0], groups))]


def points_of(frame: pd.DataFrame, objectives: Sequence[Objective]) -> Floats:
    """Return the objectives of each row, larger better, NaN if a row lacks one."""
    return np.column_stack([each.sign * _figures(frame, each) for each in objectives])


def front_of_points(points: Floats) -> Mask:
    """Return the front of plain points, one row each, larger better, none of them NaN."""
    if len(points) == 0:
        return np.zeros(0, dtype=np.bool_)
    if not np.isfinite(points).all():  # moocore 0.3.2 crashes; the order alone makes the front
        points = np.column_stack([np.unique(column, return_inverse=True)[1] for column in points.T])
    front = moocore.is_nondominated(points, maximise=True, keep_weakly=True)
    return np.asarray(front, dtype=np.bool_)


def _figures(frame: pd.DataFrame, objective: Objective) -> "pd.Series[float]":
    column = column_of(objective)
    cells = frame[column if column in frame.columns else objective.metric]
    return pd.Series(cells.to_numpy(dtype=np.float64, na_value=np.nan), index=frame.index)
