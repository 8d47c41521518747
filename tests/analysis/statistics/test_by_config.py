from __future__ import annotations

import numpy as np
import pytest
from scipy import stats

from analysis.statistics.by_config import OVER_ONE_RUN, OVER_RUNS, by_config
from analysis.statistics.intervals import log_interval
from orchestrator.trial import Stage
from tests.analysis.made_runs import MadeRun, config

SPEED = "metrics.samples_per_s"


def run_of(speeds: list[float], stage: str = "train") -> MadeRun:
    run = MadeRun()
    for repeat, speed in enumerate(speeds):
        run.add(config(), stage=stage, repeat=repeat, **{SPEED: speed, "metrics.val_acc": 0.9})
    return run


def test_repeats_become_one_row_with_the_t_interval_over_runs() -> None:
    speeds = [1000.0, 1100.0, 950.0]
    row = by_config(run_of(speeds).trials).iloc[0]
    logs = np.log(speeds)
    low, high = stats.t.interval(0.95, 2, loc=logs.mean(), scale=stats.sem(logs))
    assert row[SPEED] == pytest.approx(stats.gmean(speeds))
    assert row[f"{SPEED}_low"] == pytest.approx(np.exp(low))
    assert row[f"{SPEED}_high"] == pytest.approx(np.exp(high))
    assert (row["num_runs"], row["interval"]) == (3, OVER_RUNS)


def test_one_run_keeps_its_own_interval_and_says_that_it_is_no_more() -> None:
    run = MadeRun()
    row = run.add(config())
    made = by_config(run.trials).iloc[0]
    assert made[f"{SPEED}_low"] == row[f"{SPEED}_low"]
    assert made["interval"] == OVER_ONE_RUN


def test_the_interval_between_runs_holds_the_true_speed_as_often_as_it_says() -> None:
    rng = np.random.default_rng(1)
    held = 0
    for _ in range(1000):
        interval = log_interval(1000 * np.exp(rng.normal(0, 0.03, 4)))
        held += interval.low <= 1000 <= interval.high
    assert 0.93 <= held / 1000 <= 0.97


def test_one_value_has_no_interval() -> None:
    assert not log_interval([3.0]).is_known
    assert np.isnan(log_interval([3.0]).low)


def test_stages_are_never_mixed(made: MadeRun) -> None:
    train = by_config(made.trials, stage=Stage.TRAIN)
    confirm = by_config(made.trials, stage=Stage.CONFIRM)
    assert (len(train), len(confirm)) == (24, 2)
    assert set(train["num_runs"]) == {1}
    assert set(confirm["num_runs"]) == {3}


def test_runs_that_did_not_complete_are_counted_and_not_averaged() -> None:
    run = run_of([1000.0, 1000.0])
    run.add(config(), state="failed", reason="killed", repeat=2)
    run.add(config(num_workers=3), state="infeasible", reason="no memory")
    configs = by_config(run.trials)
    assert configs[["num_runs", "num_lost"]].to_numpy().tolist() == [[2, 1]]


def test_contaminated_runs_alone_mark_their_config() -> None:
    run = run_of([1000.0, 1000.0])
    run.add(config(num_workers=3), **{"tags.contaminated": "9 %"})
    run.rows[1]["tags.contaminated"] = "9 %"
    assert by_config(run.trials)["contaminated"].tolist() == [False, True]


def test_nothing_completed_is_an_empty_table_with_the_same_columns(made: MadeRun) -> None:
    lost = made.trials[made.trials["state"] == "infeasible"]
    configs = by_config(lost)
    assert configs.empty
    assert set(by_config(made.trials).columns) <= {*configs.columns}


def test_a_missing_figure_stays_missing() -> None:
    run = MadeRun()
    run.add(config(), **{"metrics.wait_ms": float("nan")})
    assert by_config(run.trials)["metrics.wait_ms"].isna().all()
    assert by_config(run.trials)["metrics.peak_gpu_gib"].isna().all()
