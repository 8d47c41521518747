from __future__ import annotations

import math

import numpy as np
import numpy.typing as npt
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from orchestrator.analysis.statistics.pareto import (
    front_of_points,
    in_order,
    pareto_front,
)
from orchestrator.metrics import Objective, at_least, maximize, minimize

NAN, INF = math.nan, math.inf
Points = npt.NDArray[np.float64]


def table(speed: list[float], accuracy: list[float], **more: list[float]) -> pd.DataFrame:
    columns = {"samples_per_s": speed, "val_acc": accuracy, **more}
    return pd.DataFrame({f"metrics.{name}": values for name, values in columns.items()})


BOTH = [maximize("samples_per_s"), maximize("val_acc")]


def naive_front(points: Points) -> npt.NDArray[np.bool_]:
    """By the definition: compares every row with all rows."""
    dominated = [
        ((points >= point).all(axis=1) & (points > point).any(axis=1)).any() for point in points
    ]
    return ~np.array(dominated, dtype=np.bool_)


# Both are larger-is-better. Row: the other point; column: the point asked about.
#              (1,1)  (1,2)  (2,1)  (2,2)
@pytest.mark.parametrize(
    ("objectives", "expected"),
    [
        ([maximize("samples_per_s"), maximize("val_acc")], [0, 0, 0, 1]),
        ([maximize("samples_per_s"), minimize("val_acc")], [0, 0, 1, 0]),
        ([minimize("samples_per_s"), maximize("val_acc")], [0, 1, 0, 0]),
        ([minimize("samples_per_s"), minimize("val_acc")], [1, 0, 0, 0]),
    ],
)
def test_the_directions_are_the_objectives_own(
    objectives: list[Objective], expected: list[int]
) -> None:
    corners = table([1, 1, 2, 2], [1, 2, 1, 2])
    assert pareto_front(corners, objectives).astype(int).tolist() == expected


@pytest.mark.parametrize(
    ("speed", "accuracy", "objectives", "expected"),
    [
        ([3, 1, 3, NAN], [1, 3, 1, 4], BOTH[:1], [0, 2]),
        ([NAN], [1], BOTH[:1], []),
        ([3, 1, 3, 1, 2], [1, 3, 1, 1, 2], BOTH, [0, 1, 2, 4]),  # equal rows together
        ([9, NAN, 1, NAN], [NAN, 9, 1, NAN], BOTH, [2]),  # what lacks an objective hides nothing
    ],
)
def test_fronts_by_hand(
    speed: list[float], accuracy: list[float], objectives: list[Objective], expected: list[int]
) -> None:
    front = pareto_front(table(speed, accuracy), objectives)
    assert np.flatnonzero(front).tolist() == expected


def test_each_group_has_a_front_and_a_row_that_misses_a_bound_is_on_none() -> None:
    frame = table([1, 2, 3, 4], [1, 1, 1, 0]).assign(group=["a", "a", "b", "b"])
    objectives = [maximize("samples_per_s"), at_least("val_acc", 0.5)]
    assert pareto_front(frame, objectives).tolist() == [False, True, True, False]
    assert in_order(frame.iloc[::-1], objectives).index.tolist() == [3, 2, 1, 0]


# Few distinct values, so that ties and duplicates are the rule.
coordinate = st.sampled_from([-INF, -1.0, 0.0, 0.5, 1.0, 2.0, INF])


@settings(max_examples=300, deadline=None)
@given(st.integers(2, 3).flatmap(lambda d: st.lists(st.tuples(*[coordinate] * d), min_size=1)))
def test_equals_the_definition_on_any_small_table(points: list[tuple[float, ...]]) -> None:
    array = np.array(points, dtype=np.float64)
    assert front_of_points(array).tolist() == naive_front(array).tolist()
