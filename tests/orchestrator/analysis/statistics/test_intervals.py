"""Intervals of rates and ratios, and means of matched pairs."""

import numpy as np
import pandas as pd
import pytest
from scipy import stats

from orchestrator.analysis.statistics.intervals import (
    comparison_quantile,
    is_narrow,
    mean_interval,
    ratio_interval,
)
from orchestrator.analysis.statistics.matched_pairs import (
    Basis,
    Noise,
    Points,
    holm,
    mean_difference,
    noise_of,
)


@pytest.mark.parametrize("df", [1.0, 4.0, 50.0])
def test_one_comparison_is_covered_by_students_t(df: float) -> None:
    assert comparison_quantile(1, df) == pytest.approx(stats.t.ppf(0.975, df), rel=1e-4)


def test_many_comparisons_are_all_covered_at_once() -> None:
    rng = np.random.default_rng(0)
    num, df, draws = 8, 6, 20_000
    means = rng.standard_normal((draws, num + 1))
    error = np.sqrt(2 * rng.chisquare(df, draws) / df)
    largest = np.abs(means[:, 1:] - means[:, :1]).max(axis=1) / error
    covered = (largest <= comparison_quantile(num, df)).mean()
    assert 0.95 <= covered <= 0.97  # a little conservative: they share a reference


def test_one_value_has_no_interval() -> None:
    assert np.isnan(mean_interval(np.array([3.0])).low)


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
def test_an_interval_gives_a_figure_if_its_ends_differ_by_less_than_half(
    low: float | None, high: float | None, narrow: bool
) -> None:
    assert is_narrow(low, high) is narrow


def test_the_interval_of_a_ratio_is_students_of_the_logarithms() -> None:
    ours, theirs = np.array([2.0, 2.2, 1.9]), np.array([1.0, 1.05])
    interval = ratio_interval(ours, theirs)
    expected = stats.ttest_ind(np.log(ours), np.log(theirs)).confidence_interval(0.95)
    assert interval.centre == pytest.approx(stats.gmean(ours) / stats.gmean(theirs))
    assert np.log([interval.low, interval.high]) == pytest.approx([expected.low, expected.high])


NOTHING = Noise()


def test_pairs_without_repeats_have_students_interval_and_p() -> None:
    values = np.random.default_rng(0).normal(0.3, 1, 7)
    found, reference = mean_difference(values, NOTHING), stats.ttest_1samp(values, 0)
    assert (found.low, found.high) == pytest.approx(tuple(reference.confidence_interval(0.95)))
    assert found.p == pytest.approx(reference.pvalue)
    assert found.basis is Basis.PAIRS


def test_one_pair_of_repeated_configs_is_the_t_test_of_two_samples() -> None:
    rng = np.random.default_rng(1)
    first, second = rng.normal(0, 1, 4), rng.normal(1, 1, 4)
    variance = (first.var(ddof=1) + second.var(ddof=1)) / 2
    noise = noise_of(np.full((1, 2), variance / 4), np.full((1, 2), 6.0))
    found = mean_difference(np.array([second.mean() - first.mean()]), noise)
    reference = stats.ttest_ind(second, first)
    assert (found.low, found.high) == pytest.approx(tuple(reference.confidence_interval(0.95)))
    assert found.p == pytest.approx(reference.pvalue)
    assert found.basis is Basis.REPEATS


def test_repeats_and_pairs_are_pooled_as_computed_by_hand() -> None:
    found = mean_difference(np.array([1.0, 3.0, 5.0]), Noise(variance=4.0, df=2.0))
    half = 2.7764451 * np.sqrt((2 * 4 + 8) / 4 / 3)  # t of 2 + 2 degrees of freedom
    assert (found.effect, found.low) == pytest.approx((3.0, 3.0 - half))
    assert found.basis is Basis.BOTH


@pytest.mark.parametrize("values", [[0.1], [0.1, 0.2], [0.1, 0.1, 0.1]])
def test_where_the_noise_is_not_known_there_is_no_interval(values: list[float]) -> None:
    found = mean_difference(np.array(values), NOTHING)
    assert np.isnan([found.low, found.high, found.p]).all()
    assert found.basis is Basis.UNKNOWN
    assert found.effect == pytest.approx(np.mean(values))


@pytest.mark.parametrize(("spread", "least", "most"), [(0.0, 0.94, 0.96), (0.1, 0.95, 1.0)])
@pytest.mark.parametrize("df", [0, 4])
def test_the_interval_covers_the_mean_of_these_pairs(
    spread: float, least: float, most: float, df: int
) -> None:
    rng = np.random.default_rng(3)
    covered = []
    for _ in range(4000):
        effects = spread * rng.standard_normal(4)
        variance = 2 * 0.03**2 * rng.chisquare(df) / df if df else 0.0
        values = effects + np.sqrt(2) * 0.03 * rng.standard_normal(4)
        found = mean_difference(values, Noise(variance=variance, df=df))
        covered.append(found.low <= effects.mean() <= found.high)
    assert least <= np.mean(covered) <= most


def test_holms_correction_by_hand() -> None:
    corrected = holm(np.array([0.01, np.nan, 0.04, 0.03, 0.005]))
    assert corrected == pytest.approx([0.03, np.nan, 0.06, 0.06, 0.02], nan_ok=True)
    assert holm(np.array([0.9, 0.8])).tolist() == [1.0, 1.0]
    assert holm(np.array([np.nan])) == pytest.approx([np.nan], nan_ok=True)


def test_partners_are_those_that_a_search_by_hand_finds() -> None:
    rng = np.random.default_rng(4)
    table = pd.DataFrame(
        {"a": rng.integers(3, size=60), "b": rng.choice(["x", "y"], 60), "c": rng.random(60) > 0.5}
    ).drop_duplicates(ignore_index=True)
    table = table.sample(frac=0.8, random_state=0, ignore_index=True)
    points = Points(table)
    rows = np.arange(len(table))
    for code, value in enumerate(points.values["a"]):
        found = points.changed(rows, {"a": code, "c": 1})
        for row, partner in zip(rows.tolist(), found.tolist(), strict=True):
            wanted = (value, table["b"][row], True)
            same = [i for i in rows.tolist() if tuple(table.loc[i]) == wanted]
            assert partner == (same[0] if same else -1)


def test_separate_variances_add_up_as_welchs() -> None:
    rng = np.random.default_rng(2)
    first, second = rng.normal(0, 1, 3), rng.normal(0, 4, 6)
    variances = np.array([[first.var(ddof=1) / 3, second.var(ddof=1) / 6]])
    reference = stats.ttest_ind(first, second, equal_var=False)
    assert noise_of(variances, np.array([[2.0, 5.0]])).df == pytest.approx(reference.df)
