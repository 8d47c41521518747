from __future__ import annotations

import pytest

from orchestrator.analysis.answer.effort import effort_of
from orchestrator.analysis.recommendation.speedup import Basis, Speedup, speed_up
from tests.orchestrator.analysis.made_runs import MadeRun, config, products_run

FAST = config(lr=1e-2, batch_size=4000, num_workers=3)


def test_what_a_search_took_is_of_all_trials_those_without_a_result_too() -> None:
    tables = products_run().tables
    cost = effort_of(tables, None, None)
    assert cost["search_s"] == pytest.approx(tables.trials["wall_s"].sum())
    assert cost["search_core_hours"] == pytest.approx(
        (tables.trials["wall_s"] * tables.trials["cores"]).sum() / 3600
    )
    assert {*cost} == {"search_s", "search_core_hours"}


def test_an_epoch_is_shorter_by_what_the_speed_up_says() -> None:
    tables = products_run().tables
    speedup = speed_up(tables, FAST)
    cost = effort_of(tables, FAST, speedup)
    rows = tables.trials[tables.trials["stage"] == "confirm"]
    epoch_s = rows.loc[rows["params.num_workers"] == 0, "metrics.epoch_s"].mean()
    assert speedup.ratio is not None
    assert cost["saved_s_per_epoch"] == pytest.approx(epoch_s * (1 - 1 / speedup.ratio))
    assert cost["epochs_to_pay"] == pytest.approx(cost["search_s"] / cost["saved_s_per_epoch"])


def test_nothing_is_saved_by_a_speed_up_that_is_not_known() -> None:
    wide = Speedup(ratio=2.0, low=0.1, high=40.0, basis=Basis.CONFIRM, num_pairs=2)
    cost = effort_of(products_run().tables, FAST, wide)
    assert not {"saved_s_per_epoch", "epochs_to_pay"} & {*cost}


def test_a_slower_config_saves_less_than_nothing_and_is_never_paid_back() -> None:
    slower = Speedup(ratio=0.8, low=0.79, high=0.81, basis=Basis.CONFIRM, num_pairs=3)
    cost = effort_of(products_run().tables, FAST, slower)
    assert cost["saved_s_per_epoch"] < 0
    assert "epochs_to_pay" not in cost


def test_the_peak_memory_stands_beside_the_baselines() -> None:
    cost = effort_of(products_run().tables, FAST, None)
    assert (cost["peak_rss_gib"], cost["baseline_peak_rss_gib"]) == pytest.approx((1.95, 0.9))


def test_memory_of_other_hardware_does_not_count() -> None:
    run = MadeRun()
    run.add_runs(config(), [1000.0, 1001.0])
    run.add_runs(config(), [9000.0], first=2, device="H200", **{"metrics.peak_rss_gib": 50.0})
    assert effort_of(run.tables, config(), None)["peak_rss_gib"] == pytest.approx(1.0)


def test_of_a_run_without_a_row_nothing_is_known() -> None:
    assert effort_of(MadeRun().tables, None, None) == {}
