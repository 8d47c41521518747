"""Changes with their errors, on drawn numbers."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from scipy import stats

from orchestrator.analysis.comparison.estimates import (
    Estimates,
    changes_of,
    median_interval,
    median_of,
    own_changes,
)
from tests.orchestrator.analysis.comparison.drawn import sample_of, stages_like


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


def test_the_interval_of_a_median_is_between_two_of_the_ordered_values() -> None:
    # With the second of nine values and the last but one: 96 %.
    assert median_interval(np.arange(9.0)[::-1]) == (1.0, 7.0)
    assert np.isnan(median_interval(np.zeros(5))).all()


def estimates(*logs: float) -> Estimates:
    num = len(logs)
    return Estimates(logs=np.array(logs), variances=np.full(num, 0.01), df=np.full(num, 4.0))


def test_a_config_that_changed_does_not_read_as_a_change_of_the_others() -> None:
    rows = estimates(0.1, 0.1, 0.1, 0.6)
    assert own_changes(rows, stages_like(rows)).logs == pytest.approx([0.0, 0.0, 0.0, 0.5])


def test_an_own_change_is_over_the_others_of_the_stage_whose_error_is_known() -> None:
    rows = estimates(0.1, 0.3, 1.1, 1.0, 0.2)
    stages = np.array(["train", "train", "confirm", "confirm", "probe"], dtype=np.object_)
    own = own_changes(rows, stages).logs
    assert own == pytest.approx([-0.2, 0.2, 0.1, -0.1, np.nan], nan_ok=True)
    unknown = replace(rows, variances=np.array([0.01, np.nan, 0.01, 0.01, 0.01]))
    own = own_changes(unknown, stages_like(rows)).logs
    assert own[:3] == pytest.approx([-0.9, np.nan, 0.9], nan_ok=True)
