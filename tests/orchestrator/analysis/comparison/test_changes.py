"""Changes held against a tolerance, on drawn runs whose truth is known."""

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
from orchestrator.analysis.comparison.estimates import Estimates
from tests.orchestrator.analysis.comparison.drawn import ratios_of, speed_of, stages_like

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
