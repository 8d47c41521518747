"""Changes with their errors, checked against a tolerance, on drawn runs with a known truth."""

import numpy as np
import pandas as pd
import pytest
from scipy import stats

from orchestrator.analysis.comparison.changes import (
    TOGETHER,
    Figure,
    Verdict,
    against,
    judged,
    own_changes,
    verdict_of,
)
from tests.orchestrator.analysis.comparison.drawn import changes_from, ratios_of, speed_of


def test_the_change_of_one_config_has_students_interval() -> None:
    rng = np.random.default_rng(0)
    first, second = rng.normal(7.0, 0.02, (1, 3)), rng.normal(7.1, 0.03, (1, 4))
    row = against(changes_from(first, second), 0.0).iloc[0]
    interval = stats.ttest_ind(second[0], first[0]).confidence_interval(0.95)
    assert row["change"] == pytest.approx(second.mean() - first.mean())
    assert (row["low"], row["high"]) == pytest.approx((interval.low, interval.high))


def test_the_spread_is_pooled_over_the_configs_of_a_stage() -> None:
    rng = np.random.default_rng(0)
    logs = [rng.normal(7.0, 0.02, (4, 3)) for _ in range(2)]
    rows = changes_from(*logs)
    pooled = np.mean([side.var(axis=1, ddof=1) for side in logs])
    assert rows["variance"].tolist() == pytest.approx([pooled * 2 / 3] * 4)
    assert rows["df"].tolist() == [16.0] * 4


def test_a_config_with_far_more_spread_keeps_its_own() -> None:
    rng = np.random.default_rng(0)
    noise = np.array([[0.01], [0.01], [0.01], [0.3]])
    logs = [noise * rng.standard_normal((4, 3)) for _ in range(2)]
    tested = against(changes_from(*logs), 0.0)
    interval = stats.ttest_ind(logs[1][3], logs[0][3], equal_var=False).confidence_interval(0.95)
    assert tested["low"][3] == pytest.approx(interval.low)
    assert tested["high"][0] - tested["low"][0] < 0.1


def test_an_own_change_is_over_the_others_of_the_stage_with_known_errors() -> None:
    rows = estimates(0.1, 0.3, 1.1, 1.0, 0.2)
    staged = rows.assign(stage=["train", "train", "confirm", "confirm", "probe"])
    own = own_changes(staged)["log"].tolist()
    assert own == pytest.approx([-0.2, 0.2, 0.1, -0.1, np.nan], nan_ok=True)
    unknown = rows.assign(variance=[0.01, np.nan, 0.01, 0.01, 0.01])
    own = own_changes(unknown)["log"].tolist()
    assert own[:3] == pytest.approx([-0.9, np.nan, 0.9], nan_ok=True)


ALIKE = (1.0, 1.0, 1.0, 1.0)


def estimates(*logs: float, variance: float = 1e-4, df: float = 8.0) -> pd.DataFrame:
    cells = {"stage": "train", "variance": variance, "df": df, "pooled": False}
    return pd.DataFrame({"log": logs, **cells})


def verdicts(changes: tuple[float, ...], *, draws: int, runs: int = 3) -> list[Verdict]:
    """Verdicts on pairs of runs at 2 % noise, by the speed and an accuracy that stays."""
    rng, found = np.random.default_rng(7), []
    for _ in range(draws):
        accuracy = accuracy_of(estimates(*(0.002 * rng.standard_normal(4)), variance=4e-6))
        figures = [speed_of(ratios_of(rng, runs=runs, changes=changes)), accuracy]
        found.append(verdict_of(judged(figures)))
    return found


def accuracy_of(rows: pd.DataFrame) -> Figure:
    return Figure(metric="val_acc", is_ratio=False, rows=rows.assign(limit=0.005))


def test_of_50_pairs_of_runs_without_a_change_hardly_any_has_a_regression() -> None:
    assert verdicts(ALIKE, draws=50).count(Verdict.REGRESSION) <= 2


@pytest.mark.parametrize(
    ("changes", "runs", "least"), [((0.9, 0.9, 0.9, 0.9), 3, 38), ((1.0, 0.9, 1.0, 1.0), 5, 37)]
)
def test_a_slow_down_by_ten_per_cent_is_found_in_nearly_all(
    changes: tuple[float, ...], runs: int, least: int
) -> None:
    assert verdicts(changes, draws=40, runs=runs).count(Verdict.REGRESSION) >= least


def test_swapping_the_runs_swaps_regression_and_improvement() -> None:
    rng = np.random.default_rng(3)
    rows = ratios_of(rng, changes=(0.8, 1.0, 1.3, 1.0), runs=5)
    there, back = (judged([speed_of(each)]) for each in (rows, rows.assign(log=-rows["log"])))
    swapped = {"regression": "improvement", "improvement": "regression"}
    assert set(there["verdict"]) >= {"regression", "improvement"}
    assert back["verdict"].tolist() == [swapped.get(v, v) for v in there["verdict"]]
    assert back["p_worse"].to_numpy() == pytest.approx(there["p_better"].to_numpy())


def test_a_config_that_is_alone_in_its_stage_is_counted_once_and_an_unmeasured_figure_never() -> (
    None
):
    rows = estimates(-0.2)
    changes = judged([speed_of(rows), accuracy_of(estimates(np.nan))])
    assert changes["row"].tolist() == [TOGETHER]
    assert changes["change"].tolist() == [pytest.approx(np.exp(-0.2))]
    assert verdict_of(changes) is Verdict.REGRESSION


def test_the_p_value_is_that_of_a_t_test_against_the_limit() -> None:
    found = against(estimates(-0.05), 0.03)
    assert found.p_worse[0] == pytest.approx(stats.t.cdf(-0.02 / 0.01, 8))
    assert found.p_better[0] == pytest.approx(stats.t.sf((-0.05 - 0.03) / 0.01, 8))
