from __future__ import annotations

import math

import numpy as np
import pytest
from scipy import stats

from orchestrator.analysis.statistics.common_change import (
    Estimates,
    median_interval,
    median_of,
    own_changes,
)


def estimates(*logs: float, variance: float = 0.01, df: float = 4.0) -> Estimates:
    num = len(logs)
    return Estimates(logs=np.array(logs), variances=np.full(num, variance), df=np.full(num, df))


def test_an_estimate_has_the_t_interval_of_its_error() -> None:
    low, high = estimates(0.5, variance=0.04, df=3.0).interval()
    half = stats.t.ppf(0.975, 3) * 0.2
    assert (low[0], high[0]) == (
        pytest.approx(math.exp(0.5 - half)),
        pytest.approx(math.exp(0.5 + half)),
    )


def test_the_median_of_two_is_their_mean_with_its_error() -> None:
    middle = median_of(estimates(0.1, 0.3))
    assert middle.logs.tolist() == [pytest.approx(0.2)]
    assert middle.variances.tolist() == [pytest.approx(0.01 / 2)]
    assert middle.df.tolist() == [pytest.approx(8.0)]


def test_the_median_of_many_has_a_larger_error_than_their_mean() -> None:
    middle = median_of(estimates(0.1, 0.2, 0.9))
    assert middle.logs.tolist() == [0.2]
    assert middle.variances.tolist() == [pytest.approx(math.pi / 2 * 0.01 / 3)]


def test_the_interval_of_a_median_asks_for_six_values() -> None:
    assert all(math.isnan(end) for end in median_interval(np.array([1.0, 2.0, 3.0, 4.0, 5.0])))
    assert median_interval(np.array([1.0, 2.0, 3.0, 4.0, 5.0, 6.0])) == (1.0, 6.0)


def test_a_config_that_changed_does_not_read_as_a_change_of_the_others() -> None:
    own = own_changes(estimates(0.1, 0.1, 0.1, 0.6))
    assert own.logs.tolist() == [pytest.approx(0.0)] * 3 + [pytest.approx(0.5)]


def test_without_another_config_or_an_error_of_its_own_a_change_is_not_known() -> None:
    assert np.isnan(own_changes(estimates(0.1)).logs).all()
    unknown = Estimates(
        logs=np.array([0.1, 0.2, 0.3]), variances=np.array([0.01, np.nan, 0.01]),
        df=np.array([2.0, np.nan, 2.0]),
    )  # fmt: skip
    own = own_changes(unknown)
    assert np.isnan(own.logs).tolist() == [False, True, False]
    assert own.logs[2] == pytest.approx(0.2), "over the one other whose error is known"
