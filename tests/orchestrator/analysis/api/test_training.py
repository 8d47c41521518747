from __future__ import annotations

from dataclasses import replace

import pandas as pd
import pytest

import orchestrator.analysis as an
from orchestrator.metrics import at_least
from tests.orchestrator.analysis.made_runs import MadeRun, config

SPEED, ACCURACY = "metrics.samples_per_s", "metrics.val_acc"
SLOW, FAST, NEVER = config(), config(num_workers=3), config(lr=1.0)


def three_configs() -> an.RunTables:
    """A slow and a fast config, and one that never gets there; each learns in known steps."""
    made = MadeRun()
    curves = {
        0: [(10.0, 100, 0.7), (20.0, 200, 0.9)],  # the baseline: 0.9 at 20 s, 200 samples
        1: [(4.0, 100, 0.7), (8.0, 200, 0.8), (16.0, 400, 0.9)],
        2: [(1.0, 100, 0.1), (2.0, 200, 0.1)],
    }
    for speed, c in ((10.0, SLOW), (25.0, FAST), (100.0, NEVER)):
        made.add_runs(c, [speed])
    reports = [
        {"trial_id": f"{trial:012x}", "step": 1, "epoch": epoch, "samples": samples,
         "elapsed_s": seconds, "metrics.val_acc": accuracy}
        for trial, points in curves.items()
        for epoch, (seconds, samples, accuracy) in enumerate(points, start=1)
    ]  # fmt: skip
    return replace(made.tables, curves=pd.DataFrame(reports))


def test_a_config_is_there_at_its_first_report_as_good_as_the_target() -> None:
    times = an.time_to_accuracy(three_configs(), target=0.9)
    assert times["params.num_workers"].tolist()[:2] == [3, 0]
    assert times["reached_s"].tolist() == pytest.approx([16.0, 20.0, float("nan")], nan_ok=True)
    assert times["num_reached"].tolist() == [1, 1, 0]
    assert times["num_runs"].tolist() == [1, 1, 1]
    assert times["trained_s"].tolist() == [16.0, 20.0, 2.0]
    lower = an.time_to_accuracy(three_configs(), target=0.75)
    assert lower["reached_s"].tolist()[:2] == [8.0, 20.0]


def test_where_no_config_is_there_each_has_a_row_and_an_empty_time() -> None:
    times = an.time_to_accuracy(three_configs(), target=0.99)
    assert times["reached_s"].isna().all()
    assert times["trained_s"].tolist() == [20.0, 16.0, 2.0]
    assert not an.goodput(three_configs(), target=0.99)["is_reference"].any()


def test_goodput_is_speed_times_the_samples_of_the_baseline_over_its_own() -> None:
    table = an.goodput(three_configs(), target=0.9).set_index("params.lr")
    fast, slow = table.iloc[0], table.iloc[1]
    assert (slow["efficiency"], slow["metrics.goodput"]) == pytest.approx((1.0, 10.0))
    assert (fast["efficiency"], fast["metrics.goodput"]) == pytest.approx((0.5, 12.5))
    assert table["is_reference"].tolist() == [False, True, False]
    assert table.loc[1.0, ["efficiency", "metrics.goodput"]].isna().all()


def test_the_figures_are_those_of_the_trials_table_of_a_sweep_that_asks_for_them() -> None:
    run = three_configs()
    asking = replace(run, sweep=replace(run.sweep, target=at_least("val_acc", 0.9)))
    goodput = an.goodput(asking)
    assert goodput["target"].unique().tolist() == [0.9]
    expected = asking.configs.set_index("params.num_workers")["metrics.goodput"].dropna()
    found = goodput.set_index("params.num_workers")["metrics.goodput"].dropna()
    assert found.to_dict() == pytest.approx(expected.to_dict())
    times = an.time_to_accuracy(asking).set_index("params.num_workers")["reached_s"].dropna()
    assert (
        times.to_dict()
        == asking.configs.set_index("params.num_workers")["metrics.time_to_accuracy_s"]
        .dropna()
        .to_dict()
    )


def test_without_a_target_it_is_what_the_rule_asks_for(run: an.RunTables) -> None:
    limit = run.rule.limits(an.configs(run))["val_acc"]
    times = an.time_to_accuracy(run)
    assert times["target"].unique().tolist() == [limit]
    assert 0 < times["reached_s"].notna().sum() < len(times)


def test_a_composed_config_takes_its_curves_samples_at_its_own_speed(
    factored: an.RunTables,
) -> None:
    table = an.goodput(factored, target=0.9)
    assert len(table) == len(an.configs(factored))
    assert table["num_curves"].min() == 2
    alike = table[(table["params.lr"] == 0.01) & (table["params.batch_size"] == 4000)]
    assert alike["samples_to_target"].nunique() == 1
    assert alike["metrics.samples_per_s"].nunique() == 4
    times = an.time_to_accuracy(factored, target=0.9)
    assert times["reached_s"].notna().all()


def test_some_configs_of_a_run_have_the_same_times(run: an.RunTables) -> None:
    configs = an.configs(run)
    some = an.time_to_accuracy(configs[configs["params.lr"] > 0.005], target=0.9, run=run)
    every = an.time_to_accuracy(run, target=0.9)
    expected = every[every["params.lr"] > 0.005].reset_index(drop=True)
    pd.testing.assert_frame_equal(some, expected)


def test_wrong_use_is_named(run: an.RunTables, empty: an.RunTables) -> None:
    with pytest.raises(an.TableError, match="val_acc is a fraction of 1"):
        an.time_to_accuracy(run, target=90)
    with pytest.raises(an.TableError, match="a row a trial"):
        an.goodput(run.trials, run=run)
    with pytest.raises(an.TableError, match="a frame alone"):
        an.goodput(an.configs(run))
    without = replace(run, curves=run.curves.drop(columns=ACCURACY))
    with pytest.raises(an.TableError, match="no report of the run has the accuracy val_acc"):
        an.time_to_accuracy(without)
    assert an.time_to_accuracy(empty, target=0.9).empty
    assert an.goodput(empty, target=0.9).empty
