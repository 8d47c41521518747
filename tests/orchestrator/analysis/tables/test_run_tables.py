from __future__ import annotations

import math

import numpy as np
import pandas as pd
import pytest
from scipy import stats

from orchestrator.analysis.comparable import ALL, GROUP
from orchestrator.analysis.tables.run_tables import OVER, run_intervals
from tests.orchestrator.analysis.made_runs import SPEED, MadeRun, config

GPU = {"device": "NVIDIA H200"}


def two_machines() -> MadeRun:
    """Two configs on a CPU, two on a GPU that are faster, and a confirm run."""
    run = MadeRun()
    for workers, speed in ((0, 1000.0), (3, 2000.0), (6, 1500.0)):
        run.add_runs(config(num_workers=workers), [speed])
    for workers, speed in ((0, 9000.0), (8, 9900.0)):
        run.add_runs(config(num_workers=workers), [speed], **GPU)
    run.add_runs(config(), [1000.0, 1300.0], stage="confirm")
    return run


def test_configs_are_of_all_groups_and_the_ranked_ones_of_the_main_group_come_first() -> None:
    tables = two_machines().tables
    assert tables.configs["params.num_workers"].tolist() == [0, 3, 6, 0, 8]
    assert tables.ranked["group"].tolist() == ["device cpu"] * 3 + ["device NVIDIA H200"] * 2
    best = tables.ranked[tables.ranked["verdict"] == "best"]
    assert best["params.num_workers"].tolist() == [3, 8]
    assert tables.ranked[tables.ranked["on_front"]]["params.num_workers"].tolist() == [3, 8]


def test_confirm_runs_tell_the_noise_of_configs_but_not_of_those_that_select() -> None:
    tables = two_machines().tables
    own = tables.configs[tables.configs["group"] == tables.main_group]
    assert own["variance"].notna().all()
    assert tables.searched_configs()["variance"].isna().all()
    assert tables.confirmed["num_runs"].tolist() == [2]


def test_run_intervals_are_added_to_the_trials_and_nothing_else_is() -> None:
    run = MadeRun()
    run.add_runs(config(), [1000.0, 1040.0])
    trials = run.trials.assign(**run_intervals(run.tables.grouped))
    assert set(trials.columns) == set(run.trials.columns)
    pd.testing.assert_series_equal(trials[SPEED], run.trials[SPEED])
    assert set(trials["tags.interval_over"]) == {"between runs"}
    width = math.log(trials[f"{SPEED}_high"][0] / trials[SPEED][0])
    assert width == pytest.approx(12.706 * math.log(1.04) / math.sqrt(2), rel=1e-3)


def table(speeds: dict[str, list[float]], *, within: float = 0.001) -> pd.DataFrame:
    """Runs of configs by name, their intervals within a run as narrow as asked for."""
    rows = [
        {
            "trial_id": f"{config}-{run}", "stage": "train", "state": "completed",
            "params.config": config, SPEED: speed, GROUP: ALL,
            f"{SPEED}_within_low": speed * (1 - 1.96 * within),
            f"{SPEED}_within_high": speed * (1 + 1.96 * within),
        }
        for config, runs in speeds.items()
        for run, speed in enumerate(runs)
    ]  # fmt: skip
    return pd.DataFrame(rows)


def with_intervals(rows: pd.DataFrame) -> pd.DataFrame:
    return rows.assign(**run_intervals(rows))


def test_a_row_s_interval_holds_what_fresh_runs_differ_by() -> None:
    trials = with_intervals(table({"a": [100, 104], "b": [200, 206], "c": [50]}))
    logs = [math.log(104 / 100), math.log(206 / 200)]
    spread = math.sqrt(sum(log**2 / 2 for log in logs) / 2)
    half = stats.t.ppf(0.975, 2) * spread
    assert np.log(trials[f"{SPEED}_high"] / trials[SPEED]).tolist() == pytest.approx([half] * 5)
    assert np.log(trials[SPEED] / trials[f"{SPEED}_low"]).tolist() == pytest.approx([half] * 5)
    assert set(trials[OVER]) == {"between runs, spread pooled over configs"}, "also of c, run once"


def test_the_speed_of_a_config_lies_in_95_of_100_intervals_of_its_runs() -> None:
    rng = np.random.default_rng(0)
    sweeps = [
        table({name: (1000 * np.exp(rng.normal(0, 0.03, 4))).tolist() for name in "abcde"})
        for _ in range(40)
    ]
    # Each sweep is a group of its own, and so has a pool of its own.
    groups = [sweep.assign(**{GROUP: str(number)}) for number, sweep in enumerate(sweeps)]
    trials = with_intervals(pd.concat(groups, ignore_index=True))
    held = (trials[f"{SPEED}_low"] <= 1000) & (trials[f"{SPEED}_high"] >= 1000)
    assert 0.93 <= held.mean() <= 0.97


def test_where_nothing_was_repeated_it_is_the_run_s_own_and_says_so() -> None:
    trials = with_intervals(table({"a": [100], "b": [200]}))
    assert trials[f"{SPEED}_low"].tolist() == trials[f"{SPEED}_within_low"].tolist()
    assert set(trials[OVER]) == {"one run; between-run noise not known"}
