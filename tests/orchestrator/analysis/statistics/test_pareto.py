from __future__ import annotations

import math
import time
from typing import Any

import numpy as np
import numpy.typing as npt
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from orchestrator.analysis.statistics.pareto import (
    epsilon,
    front_of_points,
    hypervolume,
    pareto_front,
)
from orchestrator.errors import SweepError
from orchestrator.metrics import Objective, maximize, minimize

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
DOMINATES = {
    (1, 1): (False, False, False, False),
    (1, 2): (True, False, False, False),
    (2, 1): (True, False, False, False),
    (2, 2): (True, True, True, False),
}


@pytest.mark.parametrize("other", DOMINATES)
@pytest.mark.parametrize("column", range(4))
def test_a_point_is_off_the_front_exactly_where_the_other_dominates_it(
    other: tuple[int, int], column: int
) -> None:
    asked = list(DOMINATES)[column]
    frame = table([asked[0], other[0]], [asked[1], other[1]])
    assert pareto_front(frame, BOTH)[0] == (not DOMINATES[other][column])


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


def test_the_front_of_one_objective_is_its_best() -> None:
    frame = table([3, 1, 3, math.nan], [1, 3, 1, 4])
    assert pareto_front(frame, [maximize("samples_per_s")]).tolist() == [True, False, True, False]
    assert not pareto_front(table([math.nan], [1]), [maximize("samples_per_s")]).any()


def test_equal_rows_are_on_the_front_together_or_not_at_all() -> None:
    frame = table([3, 1, 3, 1, 2], [1, 3, 1, 1, 2])
    assert pareto_front(frame, BOTH).tolist() == [True, True, True, False, True]


def test_a_row_that_lacks_an_objective_is_never_on_the_front_and_hides_nothing() -> None:
    frame = table([9, NAN, 1, NAN], [NAN, 9, 1, NAN])
    assert pareto_front(frame, BOTH).tolist() == [False, False, True, False]


def test_three_objectives_keep_what_only_the_third_speaks_for() -> None:
    frame = table([2, 2, 1], [2, 2, 1], peak_rss_gib=[4, 3, 1])
    front = pareto_front(frame, [*BOTH, minimize("peak_rss_gib")])
    assert front.tolist() == [False, True, True]


def test_empty_and_single_tables() -> None:
    assert pareto_front(table([], []), BOTH).tolist() == []
    assert pareto_front(table([-INF], [-INF]), BOTH).tolist() == [True]


def test_nullable_columns_are_read_with_their_gaps() -> None:
    frame = table([1, 2], [1, 2]).astype("Float64")
    frame.loc[1, "metrics.val_acc"] = pd.NA
    assert pareto_front(frame, BOTH).tolist() == [True, False]


def test_an_unknown_metric_is_named_with_its_nearest() -> None:
    with pytest.raises(SweepError, match=r"'val_ac'; did you mean 'val_acc'\?"):
        pareto_front(table([1], [1]), [maximize("samples_per_s"), maximize("val_ac")])


@pytest.mark.parametrize("number", [0, 4])
def test_only_one_to_three_objectives(number: int) -> None:
    with pytest.raises(ValueError, match="one, two or three"):
        pareto_front(table([1], [1]), [maximize("val_acc")] * number)


# Few distinct values, so that ties and duplicates are the rule.
coordinate = st.sampled_from([-INF, -1.0, 0.0, 0.5, 1.0, 2.0, INF])


@settings(max_examples=300, deadline=None)
@given(st.integers(2, 3).flatmap(lambda d: st.lists(st.tuples(*[coordinate] * d), min_size=1)))
def test_equals_the_definition_on_any_small_table(points: list[tuple[float, ...]]) -> None:
    array = np.array(points, dtype=np.float64)
    assert front_of_points(array).tolist() == naive_front(array).tolist()


# Below and above the size from which dominated rows are struck out before the sort.
@pytest.mark.parametrize("num_rows", [400, 2500])
@pytest.mark.parametrize("dimensions", [2, 3])
@pytest.mark.parametrize("num_values", [3, 30, 100_000])
@pytest.mark.parametrize("roundness", [0.0, 1.0])
def test_equals_the_definition_on_large_random_tables(
    num_rows: int, dimensions: int, num_values: int, roundness: float
) -> None:
    rng = np.random.default_rng(0)
    points = rng.integers(0, num_values, (num_rows, dimensions)).astype(np.float64)
    # Towards a sphere, so that large fronts are met as well as small ones.
    points /= np.linalg.norm(points + 1, axis=1, keepdims=True) ** roundness
    points = np.round(np.concatenate([points, points[::7]]), 6)
    assert front_of_points(points).tolist() == naive_front(points).tolist()


def test_many_equal_rows_are_all_on_the_front() -> None:
    points = np.full((10_000, 2), 3.0)
    assert front_of_points(points).all()
    assert front_of_points(np.full((10_000, 3), 3.0)).all()
    points[:9_000] = 1.0
    assert np.flatnonzero(front_of_points(points)).tolist() == [*range(9_000, 10_000)]


@pytest.mark.parametrize("shape", ["most dominated", "all on the front"])
def test_a_million_rows_take_at_most_a_second(shape: str) -> None:
    rng = np.random.default_rng(0)
    points = rng.normal(size=(1_000_000, 2))
    if shape == "all on the front":
        points = np.abs(points) / np.linalg.norm(points, axis=1, keepdims=True)
    frame = pd.DataFrame(points, columns=[f"metrics.{objective.metric}" for objective in BOTH])
    spent: list[float] = []
    for _ in range(2):
        began = time.process_time()
        front: Any = pareto_front(frame, BOTH)
        spent.append(time.process_time() - began)
    assert front.all() == (shape == "all on the front")
    assert min(spent) <= 1.0


STAIRS = np.array([[1.0, 3.0], [2.0, 2.0], [3.0, 1.0], [1.0, 1.0]])


def test_the_volume_of_a_staircase_is_that_of_its_union() -> None:
    assert hypervolume(STAIRS, (0.0, 0.0)) == pytest.approx(3 + 2 + 1)
    assert hypervolume(STAIRS, (0.0, 2.0)) == pytest.approx(1.0)  # one point is beyond it
    assert hypervolume(np.empty((0, 2)), (0.0, 0.0)) == 0.0
    boxes = np.array([[1.0, 1.0, 2.0], [2.0, 1.0, 1.0]])
    assert hypervolume(boxes, (0.0, 0.0, 0.0)) == pytest.approx(2 + 2 - 1)


@settings(max_examples=100, deadline=None)
@given(st.integers(1, 3).flatmap(lambda d: st.lists(st.tuples(*[coordinate] * d), min_size=1)))
def test_infinite_figures_crash_nothing(points: list[tuple[float, ...]]) -> None:
    array = np.array(points, dtype=np.float64)
    volume = hypervolume(array, [0.0] * array.shape[1])
    assert (volume == INF) == bool(((array > 0).all(axis=1) & (array == INF).any(axis=1)).any())


@settings(max_examples=100, deadline=None)
@given(*[st.lists(st.tuples(*[st.integers(1, 9)] * 2), min_size=1, max_size=8)] * 2)
def test_epsilon_is_the_least_factor_that_reaches_each_point_of_the_front(
    points: list[tuple[int, int]], front: list[tuple[int, int]]
) -> None:
    factors = [min(max(f / p for f, p in zip(goal, own, strict=True)) for own in points)
               for goal in front]  # fmt: skip
    own, goal = (np.array(some, dtype=np.float64) for some in (points, front))
    assert epsilon(own, goal) == pytest.approx(max(factors) - 1)
