"""Ratios of two means and the tests on them, held to drawn numbers."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from scipy import stats

from analysis.comparison.compare import common_change
from analysis.comparison.estimates import SIGNIFICANCE, Sample, holm, log_ratios, own_tests
from analysis.statistics.common_change import median_interval
from tests.analysis.comparison.drawn import ratios_of, sample_of

NUM_DRAWS = 1000


def test_the_ratio_and_its_interval_are_welchs() -> None:
    rng = np.random.default_rng(0)
    first, second = rng.normal(7.0, 0.02, (1, 3)), rng.normal(7.1, 0.05, (1, 4))
    estimates = log_ratios(sample_of(first), sample_of(second))
    interval = stats.ttest_ind(second[0], first[0], equal_var=False).confidence_interval(0.95)
    low, high = estimates.interval()
    assert estimates.logs[0] == pytest.approx(second.mean() - first.mean())
    assert (low[0], high[0]) == pytest.approx((np.exp(interval.low), np.exp(interval.high)))


def test_a_single_run_leaves_the_error_unknown() -> None:
    several = Sample(means=np.zeros(2), variances=np.full(2, 0.01), num_runs=np.full(2, 3.0))
    single = Sample(means=np.ones(2), variances=np.full(2, np.nan), num_runs=np.ones(2))
    estimates = log_ratios(several, single)
    assert estimates.logs.tolist() == [1.0, 1.0]
    assert np.isnan(estimates.variances).all()
    assert np.isnan(own_tests(estimates)[1]).all()


def test_holm_corrects_as_its_definition_says() -> None:
    adjusted = holm(np.array([0.04, np.nan, 0.01, 0.03]))
    assert adjusted[[0, 2, 3]] == pytest.approx([0.06, 0.03, 0.06])
    assert np.isnan(adjusted[1])


def test_of_runs_that_do_not_differ_one_in_twenty_has_a_change() -> None:
    rng = np.random.default_rng(1)
    p_values = np.array([holm(own_tests(ratios_of(rng))[1]).min() for _ in range(NUM_DRAWS)])
    assert 0.02 < (p_values < SIGNIFICANCE).mean() < 0.065  # 0.014 around 0.05: twice the error


def test_a_change_that_all_have_in_common_is_no_configs_own() -> None:
    estimates = ratios_of(np.random.default_rng(2))
    shifted = replace(estimates, logs=estimates.logs + 0.3)
    own, p_values = own_tests(estimates)
    own_shifted, shifted_p_values = own_tests(shifted)
    assert own_shifted.logs == pytest.approx(own.logs)
    assert shifted_p_values == pytest.approx(p_values)


def test_the_interval_of_the_common_change_holds_it_19_times_of_20() -> None:
    rng = np.random.default_rng(3)
    changes = [common_change("train", ratios_of(rng)) for _ in range(NUM_DRAWS)]
    assert 0.93 < np.mean([change.low <= 1 <= change.high for change in changes]) < 0.98


def test_the_interval_of_a_median_by_order_holds_it_19_times_of_20() -> None:
    logs = np.random.default_rng(4).normal(np.log(1.1), 0.03, size=(NUM_DRAWS, 9))
    ends = np.array([median_interval(row) for row in logs])
    # By the order of nine values, which is 96 %.
    assert 0.94 < ((ends[:, 0] <= 1.1) & (ends[:, 1] >= 1.1)).mean() < 0.98
    assert np.isnan(median_interval(np.zeros(5))).all()
