"""Verdicts against the best, and the Pareto front."""

import math
from dataclasses import replace
from typing import Any

import numpy as np
import numpy.typing as npt
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats

from orchestrator.analysis.comparable import ALL, GROUP
from orchestrator.analysis.statistics.against_best import against_best, resolvable
from orchestrator.analysis.statistics.intervals import comparison_quantile
from orchestrator.analysis.statistics.pareto import front_of_points, in_order, pareto_front
from orchestrator.metrics import Objective, at_least, maximize, minimize
from tests.orchestrator.analysis.made_runs import ACCURACY, SPEED, MadeRun, config

RULE = MadeRun().tables.rule


def configs_of(
    speeds: list[float], *, cv: float = 0.01, runs: int = 3, df: float = 20, **columns: object
) -> pd.DataFrame:
    """Configs as they come from ``by_config``."""
    return pd.DataFrame(
        {
            SPEED: speeds,
            ACCURACY: 0.9,
            "variance": cv**2 / runs,
            "df": df,
            "num_runs": runs,
            "timed_ids": [str(number) for number in range(len(speeds))],
            GROUP: ALL,
            **columns,
        }
    )


def verdicts(configs: pd.DataFrame) -> list[str]:
    return [str(verdict) for verdict in against_best(configs, RULE)["verdict"]]


@pytest.mark.parametrize(
    ("speeds", "cv", "expected"),
    [
        ([1000, 999], 0.002, ["best", "tied"]),
        ([1000, 990], 0.003, ["best", "tied"]),  # slower, and as good as the best all the same
        ([1000, 970], 0.003, ["best", "worse"]),
        ([1000, 970], 0.03, ["best", "unresolved"]),
        ([1000, 999], 0.03, ["best", "unresolved"]),
        ([900, 1000, 500], 0.01, ["worse", "best", "worse"]),
        ([1000], 0.01, ["best"]),
    ],
)
def test_the_four_verdicts(speeds: list[float], cv: float, expected: list[str]) -> None:
    assert verdicts(configs_of(speeds, cv=cv)) == expected


def test_two_configs_are_compared_by_the_t_interval_of_their_ratio() -> None:
    row = against_best(configs_of([1000, 900], cv=0.02, runs=2, df=7), RULE).iloc[1]
    half = stats.t.ppf(0.975, 7) * 0.02
    assert row["ratio_to_best"] == pytest.approx(0.9)
    assert (row["ratio_low"], row["ratio_high"]) == (
        pytest.approx(0.9 * np.exp(-half), rel=1e-4),
        pytest.approx(0.9 * np.exp(half), rel=1e-4),
    )


def test_a_config_with_its_own_spread_is_judged_by_its_own_degrees_of_freedom() -> None:
    configs = configs_of([1000, 950], cv=0.01, df=20)
    configs.loc[1, "df"] = 1.0
    assert verdicts(configs_of([1000, 950], cv=0.01, df=20)) == ["best", "worse"]
    assert verdicts(configs) == ["best", "unresolved"]


def test_without_repeats_nothing_is_distinguished_from_the_best() -> None:
    answers = against_best(configs_of([1000, 200], cv=np.nan, df=np.nan), RULE)
    assert answers["verdict"].tolist() == ["best", "unresolved"]
    assert answers["ratio_to_best"].tolist() == [1.0, pytest.approx(0.2)]
    assert answers.loc[1, ["ratio_low", "ratio_high"]].isna().all()


def test_each_group_has_its_own_best() -> None:
    configs = configs_of([100, 90, 9000, 8000], **{GROUP: ["cpu", "cpu", "H200", "H200"]})
    assert verdicts(configs) == ["best", "worse", "best", "worse"]


def test_costs_are_ranked_the_other_way() -> None:
    rule = replace(RULE, objectives=(minimize("epoch_s"), *RULE.objectives[1:]))
    answers = against_best(configs_of([0, 0], **{"metrics.epoch_s": [2.0, 1.0]}), rule)
    assert answers["verdict"].tolist() == ["worse", "best"]
    assert answers["ratio_to_best"][0] == pytest.approx(0.5)


def naive(
    logs: npt.NDArray[Any], variances: npt.NDArray[Any], quantile: float
) -> list[tuple[bool, float, float]]:
    """By the definition, pair by pair."""
    everyone = range(len(logs))
    half = {
        (i, j): quantile * np.sqrt(variances[i] + variances[j]) for i in everyone for j in everyone
    }
    worse = [any(logs[i] - logs[j] + half[i, j] < 0 for j in everyone if j != i) for i in everyone]
    found = []
    for i in everyone:
        contenders = [j for j in everyone if j != i and not worse[j]]
        low = min((logs[i] - logs[j] - half[i, j] for j in contenders), default=0.0)
        high = max((logs[i] - logs[j] + half[i, j] for j in contenders), default=0.0)
        found.append((worse[i], float(np.exp(low)), float(np.exp(min(high, 0.0)))))
    return found


@pytest.mark.parametrize(("num", "max_cells"), [(2, 1_000_000), (40, 1_000_000), (40, 100)])
def test_equals_the_definition_on_random_configs(
    num: int, max_cells: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("orchestrator.analysis.statistics.against_best.MAX_CELLS", max_cells)
    rng = np.random.default_rng(num)
    configs = configs_of(list(1000 * np.exp(0.05 * rng.standard_normal(num))))
    configs["variance"] = 0.02**2 / rng.integers(1, 5, num)
    logs, quantile = np.log(configs[SPEED].to_numpy()), comparison_quantile(num - 1, 20.0)
    expected = naive(logs, configs["variance"].to_numpy(), quantile)
    answers = against_best(configs, RULE).to_dict("records")
    for row, (worse, low, high) in zip(answers, expected, strict=True):
        if row["verdict"] != "best":
            assert (row["verdict"] == "worse") == (worse and low < 0.98)
            assert (row["ratio_low"], row["ratio_high"]) == pytest.approx((low, high))


def test_the_true_best_is_seldom_called_worse() -> None:
    draws, true = 100, np.array([1000.0, 1000.0, 990.0, 980.0, 950.0, 900.0])
    noise = 0.03 * np.random.default_rng(5).standard_normal((draws, len(true), 3))
    configs = configs_of(list((true * np.exp(noise.mean(axis=2))).ravel()), df=12)
    configs["variance"] = np.repeat(noise.var(axis=2, ddof=1).mean(axis=1) / 3, len(true))
    configs[GROUP] = np.repeat(np.arange(draws), len(true))
    called = np.array(verdicts(configs)).reshape(draws, len(true))
    assert (called[:, 0] == "worse").sum() <= 5


def repeated(*groups: tuple[int, list[float]]) -> MadeRun:
    """Runs of (num_workers, speeds)."""
    run = MadeRun()
    for workers, speeds in groups:
        run.add_runs(config(num_workers=workers), speeds, within=0.0005)
    return run


def test_unresolved_configs_are_settled_by_enough_repeats_of_them_and_of_the_best() -> None:
    run = repeated((0, [500, 505, 495]), (3, [955, 975, 965]), (6, [990, 1005, 975]), (8, [1001]))
    found = against_best(run.tables.searched_configs(), RULE)
    is_open = found["verdict"] == "unresolved"
    many, few = (is_open & resolvable(found, RULE, max_runs=number) for number in (40, 3))
    assert set(found.loc[many, "params.num_workers"]) & {3, 6}
    assert not few.any()


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
def test_directions_are_objectives_own(objectives: list[Objective], expected: list[int]) -> None:
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
