from __future__ import annotations

import math

import pandas as pd
import pytest

from orchestrator.analysis.tables.run_tables import with_run_intervals
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
    trials = with_run_intervals(run.trials, run.record)
    assert set(trials.columns) == set(run.trials.columns)
    pd.testing.assert_series_equal(trials[SPEED], run.trials[SPEED])
    assert set(trials["tags.interval_over"]) == {"between runs"}
    width = math.log(trials[f"{SPEED}_high"][0] / trials[SPEED][0])
    assert width == pytest.approx(12.706 * math.log(1.04) / math.sqrt(2), rel=1e-3)
