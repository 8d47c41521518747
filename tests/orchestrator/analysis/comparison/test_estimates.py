"""Changes with their errors and the tests on them, held to drawn numbers."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from scipy import stats

from orchestrator.analysis.comparison.estimates import (
    SIGNIFICANCE,
    Sample,
    changes_of,
    holm,
    p_values_of,
)
from orchestrator.analysis.comparison.figures import own_by_stage
from orchestrator.analysis.statistics.common_change import Estimates, median_interval, median_of
from tests.orchestrator.analysis.comparison.drawn import ratios_of, sample_of, stages_like

NUM_DRAWS = 300


@pytest.fixture(scope="module")
def drawn() -> list[Estimates]:
    """Ratios of runs that do not differ."""
    rng = np.random.default_rng(1)
    return [ratios_of(rng) for _ in range(NUM_DRAWS)]


def own_p_values(rows: Estimates) -> np.ndarray:
    return p_values_of(own_by_stage(rows, stages_like(rows)))


def test_the_change_of_one_config_has_students_interval() -> None:
    rng = np.random.default_rng(0)
    first, second = rng.normal(7.0, 0.02, (1, 3)), rng.normal(7.1, 0.03, (1, 4))
    estimates = changes_of(sample_of(first), sample_of(second), stages_like(first))
    interval = stats.ttest_ind(second[0], first[0]).confidence_interval(0.95)
    low, high = estimates.interval()
    assert estimates.logs[0] == pytest.approx(second.mean() - first.mean())
    assert (low[0], high[0]) == pytest.approx((np.exp(interval.low), np.exp(interval.high)))


def test_the_spread_is_pooled_over_the_configs_of_a_stage() -> None:
    rng = np.random.default_rng(0)
    logs = [rng.normal(7.0, 0.02, (4, 3)) for _ in range(2)]
    estimates = changes_of(*map(sample_of, logs), stages_like(logs[0]))
    pooled = np.mean([side.var(axis=1, ddof=1) for side in logs])
    assert estimates.variances == pytest.approx(pooled * 2 / 3)
    assert estimates.df.tolist() == [16.0] * 4
    assert median_of(estimates).df[0] == pytest.approx(16), "one pool is one term of Welch's sum"


def test_a_config_whose_runs_differ_far_more_keeps_its_own_spread() -> None:
    rng = np.random.default_rng(0)
    noise = np.array([[0.01], [0.01], [0.01], [0.3]])
    logs = [noise * rng.standard_normal((4, 3)) for _ in range(2)]
    estimates = changes_of(*map(sample_of, logs), stages_like(logs[0]))
    interval = stats.ttest_ind(logs[1][3], logs[0][3], equal_var=False).confidence_interval(0.95)
    assert estimates.interval()[0][3] == pytest.approx(np.exp(interval.low))
    assert estimates.interval()[1][0] / estimates.interval()[0][0] < 1.1


def test_without_any_repeats_the_error_is_unknown() -> None:
    single = Sample(means=np.ones(2), variances=np.full(2, np.nan), num_runs=np.ones(2))
    estimates = changes_of(single, replace(single, means=np.zeros(2)), stages_like(single.means))
    assert estimates.logs.tolist() == [-1.0, -1.0]
    assert np.isnan(estimates.variances).all()
    assert np.isnan(own_p_values(estimates)).all()


def test_holm_corrects_as_its_definition_says() -> None:
    adjusted = holm(np.array([0.04, np.nan, 0.01, 0.03]))
    assert adjusted[[0, 2, 3]] == pytest.approx([0.06, 0.03, 0.06])
    assert np.isnan(adjusted[1])


def test_of_runs_that_do_not_differ_one_in_twenty_has_a_change(drawn: list[Estimates]) -> None:
    p_values = np.array([holm(own_p_values(ratios)).min() for ratios in drawn])
    assert 0.02 < (p_values < SIGNIFICANCE).mean() < 0.08  # twice the error around 0.05


def test_a_change_that_all_have_in_common_is_no_configs_own() -> None:
    estimates = ratios_of(np.random.default_rng(2))
    shifted = replace(estimates, logs=estimates.logs + 0.3)
    assert own_p_values(shifted) == pytest.approx(own_p_values(estimates))


def test_the_interval_of_the_common_change_holds_it_19_times_of_20(
    drawn: list[Estimates],
) -> None:
    ends = np.array([median_of(ratios).interval() for ratios in drawn])
    assert 0.93 < ((ends[:, 0] <= 1) & (ends[:, 1] >= 1)).mean() < 0.985


def test_the_interval_of_a_median_by_order_holds_it_19_times_of_20() -> None:
    logs = np.random.default_rng(4).normal(np.log(1.1), 0.03, size=(NUM_DRAWS, 9))
    ends = np.exp([median_interval(row) for row in logs])
    # By the order of nine values, which is 96 %.
    assert 0.93 < ((ends[:, 0] <= 1.1) & (ends[:, 1] >= 1.1)).mean() < 0.98
    assert np.isnan(median_interval(np.zeros(5))).all()
