"""The Pareto front: the rows that no other row beats in every objective."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Sequence
from typing import Any, Final

import numpy as np
import numpy.typing as npt
import pandas as pd

from analysis.columns import metrics_of
from orchestrator.errors import SweepError, nearest
from orchestrator.metrics import Objective

Mask = npt.NDArray[np.bool_]
Floats = npt.NDArray[np.float64]

_LARGE: Final = 2_000
_SAMPLE: Final = 500


def pareto_front(frame: pd.DataFrame, objectives: Sequence[Objective]) -> Mask:
    """Return True for the rows of a table that are on the Pareto front.

    A row dominates another where it is at least as good in every objective and better
    in one. The front holds the rows that none dominates: rows that are equal in all
    objectives are on it together or not at all. A row that lacks an objective (NaN) is
    never on it, and dominates nothing.

    Args:
        frame: One row a trial or a config, with a ``metrics.<name>`` column an objective.
        objectives: One, two or three.

    Returns:
        One boolean a row, in the order of the rows.

    Raises:
        ValueError: There are not one to three objectives.
        SweepError: The table has no column for an objective.
    """
    if len(objectives) not in (1, 2, 3):
        raise ValueError(f"a front has one, two or three objectives, not {len(objectives)}")
    points = np.column_stack([_larger_is_better(frame, objective) for objective in objectives])
    complete = ~np.isnan(points).any(axis=1)
    if len(objectives) == 1:
        return np.asarray(points[:, 0] == np.nanmax(points, initial=-np.inf))
    if complete.all():
        return front_of_points(points)
    mask = np.zeros(len(frame), dtype=np.bool_)
    mask[complete] = front_of_points(points[complete])
    return mask


def front_of_points(points: Floats) -> Mask:
    """Return the front of plain points, (n, 2) or (n, 3), larger better, none of them NaN."""
    left = _not_struck_out(points)
    if left is None:
        return _front_of(points)
    mask = np.zeros(len(points), dtype=np.bool_)
    mask[left] = _front_of(points[left])
    return mask


def _front_of(points: Floats) -> Mask:
    return _front_of_pairs(points) if points.shape[1] == 2 else _front_of_triples(points)


def _not_struck_out(points: Floats) -> npt.NDArray[np.intp] | None:
    """Return the rows that are left once a few strong points have struck out what they dominate.

    Sorting a table costs far more than comparing it with one point, and of most tables
    one point out of a small sample dominates nearly everything. Goes on while half of
    what is left goes each time. None where no row was struck out: where the strongest of a
    sample dominates less than half of the sample itself, the table is not even looked at.
    """
    left, candidates = None, points
    while len(candidates) > _LARGE:
        strong, share = _strongest(candidates[:: len(candidates) // _SAMPLE])
        if share < 1 / 2:
            break
        columns = list(zip(candidates.T, strong, strict=True))
        stays = np.logical_or.reduce([column > limit for column, limit in columns])
        stays |= np.logical_and.reduce([column == limit for column, limit in columns])
        left = np.flatnonzero(stays) if left is None else left[stays]
        if len(left) > len(candidates) / 2:  # many equal points
            break
        candidates = points[left]
    return left


def _strongest(sample: Floats) -> tuple[Floats, float]:
    """Return the point that is at least as good as the most others, and as what share of them."""
    front = sample[_front_of(sample)]
    reached = (front[:, None] >= sample[None]).all(axis=2).mean(axis=1)
    strongest = reached.argmax()
    return front[strongest], float(reached[strongest])


def _front_of_pairs(points: Floats) -> Mask:
    """Return the front of two objectives, by one sort of the first.

    A point is on it where none with the same first coordinate has a larger second, and
    all with a larger first have a smaller second.
    """
    if len(points) == 0:
        return np.zeros(0, dtype=np.bool_)
    order = np.argsort(points[:, 0])
    first, second = points[order].T
    begins = np.flatnonzero(np.concatenate([[True], first[1:] != first[:-1]]))
    highest = np.maximum.reduceat(second, begins)
    on_front = np.ones(len(highest), dtype=np.bool_)
    on_front[:-1] = highest[:-1] > np.maximum.accumulate(highest[:0:-1])[::-1]
    counts = np.diff(begins, append=len(points))
    mask = np.empty(len(points), dtype=np.bool_)
    mask[order] = np.repeat(on_front, counts) & (second == np.repeat(highest, counts))
    return mask


def _front_of_triples(points: Floats) -> Mask:
    """Return the front of three objectives: sorted best first, equal points together.

    Whatever dominates a point then stands before it, and has a first coordinate at least
    as large, so that only the other coordinates need to be looked at.
    """
    if len(points) == 0:
        return np.zeros(0, dtype=np.bool_)
    best_first = np.lexsort(points.T[::-1])[::-1]
    ordered = points[best_first]
    is_new = np.ones(len(ordered), dtype=np.bool_)
    is_new[1:] = (ordered[1:] != ordered[:-1]).any(axis=1)
    front = _front_in_two(ordered[is_new, 1:])
    mask = np.empty(len(points), dtype=np.bool_)
    mask[best_first] = front[np.cumsum(is_new) - 1]
    return mask


def _front_in_two(pairs: Floats) -> Mask:
    """Return True for pairs with no pair before them that is at least as large in both.

    The pairs seen so far that matter form a staircase: as the first coordinate rises
    the second falls. Kept as two ascending lists of (first, -second).
    """
    front = np.zeros(len(pairs), dtype=np.bool_)
    firsts: list[float] = []
    minus_seconds: list[float] = []
    for index, (first, second) in enumerate(pairs.tolist()):
        # Of the steps that reach at least as far, the nearest is the highest.
        place = bisect_left(firsts, first)
        if place < len(firsts) and minus_seconds[place] <= -second:
            continue
        front[index] = True
        reach = place + (place < len(firsts) and firsts[place] == first)
        covered = bisect_left(minus_seconds, -second, 0, place)
        firsts[covered:reach] = [first]
        minus_seconds[covered:reach] = [-second]
    return front


def _larger_is_better(frame: pd.DataFrame, objective: Objective) -> Floats:
    column = f"metrics.{objective.metric}"
    if column not in frame.columns:
        known = [name.removeprefix("metrics.") for name in metrics_of(frame)]
        raise SweepError(
            f"the table has no figure {objective.metric!r}{nearest(objective.metric, known)}",
            f"figures: {', '.join(known)}",
        )
    values: Any = frame[column].to_numpy(dtype=np.float64, na_value=np.nan)
    return np.asarray(objective.sign * values, dtype=np.float64)
