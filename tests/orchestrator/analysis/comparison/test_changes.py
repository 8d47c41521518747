"""Changes with their errors, checked against a tolerance, on drawn runs whose truth is known."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from scipy import stats

from orchestrator.analysis.comparison.changes import (
    TOGETHER,
    Figure,
    Verdict,
    against,
    figure_of,
    judged,
    together,
    verdict_of,
)
from orchestrator.analysis.comparison.estimates import (
    Estimates,
    changes_of,
    median_interval,
    median_of,
    own_changes,
)
from tests.orchestrator.analysis.comparison.drawn import ratios_of, sample_of, speed_of, stages_like


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


ALIKE = (1.0, 1.0, 1.0, 1.0)


def estimates(*logs: float, variance: float = 1e-4, df: float = 8.0) -> Estimates:
    num = len(logs)
    return Estimates(logs=np.array(logs), variances=np.full(num, variance), df=np.full(num, df))


def verdicts(changes: tuple[float, ...], *, draws: int, runs: int = 3) -> list[Verdict]:
    """Verdicts on pairs of runs at 2 % noise, by the speed and an accuracy that stays."""
    rng, found = np.random.default_rng(7), []
    for _ in range(draws):
        accuracy = accuracy_of(estimates(*(0.002 * rng.standard_normal(4)), variance=4e-6))
        figures = [speed_of(ratios_of(rng, runs=runs, changes=changes)), accuracy]
        found.append(verdict_of(judged(figures, stages_like(changes))))
    return found


def accuracy_of(rows: Estimates) -> Figure:
    limits = np.full(len(rows), 0.005)
    return figure_of("val_acc", rows, stages_like(rows), limits, is_ratio=False)


def test_of_200_pairs_of_runs_without_a_change_hardly_any_has_a_regression() -> None:
    assert verdicts(ALIKE, draws=200).count(Verdict.REGRESSION) <= 5


@pytest.mark.parametrize(
    ("changes", "runs", "least"),
    [((0.9, 0.9, 0.9, 0.9), 3, 38), ((1.0, 0.9, 1.0, 1.0), 5, 37)],
)
def test_a_slow_down_by_ten_per_cent_is_found_in_nearly_all(
    changes: tuple[float, ...], runs: int, least: int
) -> None:
    assert verdicts(changes, draws=40, runs=runs).count(Verdict.REGRESSION) >= least


def test_swapping_the_runs_swaps_regression_and_improvement() -> None:
    rng = np.random.default_rng(3)
    rows = ratios_of(rng, changes=(0.8, 1.0, 1.3, 1.0), runs=5)
    there, back = (
        judged([speed_of(each)], stages_like(each))
        for each in (rows, replace(rows, logs=-rows.logs))
    )
    swapped = {"regression": "improvement", "improvement": "regression"}
    assert set(there["verdict"]) >= {"regression", "improvement"}
    assert back["verdict"].tolist() == [swapped.get(v, v) for v in there["verdict"]]
    assert back["p_worse"].to_numpy() == pytest.approx(there["p_better"].to_numpy())


def test_single_runs_of_many_configs_are_told_by_their_order() -> None:
    single = estimates(*np.linspace(-0.2, -0.1, 8), variance=np.nan)
    found = together(single, np.full(8, 0.03))
    assert found.p_worse[0] == pytest.approx(0.5**8)
    assert (found.num_configs[0], found.p_better[0]) == (8, 1.0)
    same = together(estimates(*np.zeros(8), variance=np.nan), np.zeros(8))
    assert (same.p_worse[0], same.p_better[0]) == (1.0, 1.0), "no change is within any tolerance"


def test_a_config_that_is_alone_in_its_stage_is_counted_once_and_an_unmeasured_figure_never() -> (
    None
):
    rows = estimates(-0.2)
    changes = judged([speed_of(rows), accuracy_of(estimates(np.nan))], stages_like(rows))
    assert changes["row"].tolist() == [TOGETHER]
    assert changes["change"].tolist() == [pytest.approx(np.exp(-0.2))]
    assert verdict_of(changes) is Verdict.REGRESSION


def test_the_p_value_is_that_of_a_t_test_against_the_limit() -> None:
    found = against(estimates(-0.05), np.array([0.03]))
    assert found.p_worse[0] == pytest.approx(stats.t.cdf(-0.02 / 0.01, 8))
    assert found.p_better[0] == pytest.approx(stats.t.sf((-0.05 - 0.03) / 0.01, 8))
