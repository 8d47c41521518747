from __future__ import annotations

import numpy as np
import pytest
from scipy import stats

from orchestrator.analysis.statistics.intervals import (
    comparison_quantile,
    is_narrow,
    log_interval,
    ratio_interval,
)


@pytest.mark.parametrize("df", [1.0, 4.0, 50.0])
def test_one_comparison_is_held_by_students_t(df: float) -> None:
    assert comparison_quantile(1, df) == pytest.approx(stats.t.ppf(0.975, df), rel=1e-4)


def test_many_comparisons_are_all_held_at_once() -> None:
    rng = np.random.default_rng(0)
    num, df, draws = 8, 6, 20_000
    means = rng.standard_normal((draws, num + 1))
    error = np.sqrt(2 * rng.chisquare(df, draws) / df)
    largest = np.abs(means[:, 1:] - means[:, :1]).max(axis=1) / error
    held = (largest <= comparison_quantile(num, df)).mean()
    assert 0.95 <= held <= 0.97  # a little conservative: they share a reference


def test_one_value_has_no_interval_and_a_stricter_level_widens_it() -> None:
    assert not log_interval([3.0]).is_known
    assert np.isnan(log_interval([3.0]).low)
    values = [1.0, 1.1, 0.95]
    usual, strict = log_interval(values), log_interval(values, level=0.01)
    assert strict.low < usual.low < usual.centre < usual.high < strict.high


@pytest.mark.parametrize(
    ("low", "high", "narrow"),
    [
        (1.22, 1.47, True),
        (0.98, 1.09, True),
        (1.0, 1.5, False),
        (0.03, 24.47, False),
        (0.0, 0.1, False),
        (-0.1, 0.1, False),
        (None, None, False),
        (float("nan"), float("nan"), False),
    ],
)
def test_an_interval_tells_a_figure_where_its_ends_are_less_than_half_as_much_again_apart(
    low: float | None, high: float | None, narrow: bool
) -> None:
    assert is_narrow(low, high) is narrow


def test_the_interval_of_a_ratio_is_students_of_the_logarithms() -> None:
    ours, theirs = [2.0, 2.2, 1.9], [1.0, 1.05]
    interval = ratio_interval(ours, theirs)
    expected = stats.ttest_ind(np.log(ours), np.log(theirs)).confidence_interval(0.95)
    assert interval.centre == pytest.approx(stats.gmean(ours) / stats.gmean(theirs))
    assert np.log([interval.low, interval.high]) == pytest.approx([expected.low, expected.high])
