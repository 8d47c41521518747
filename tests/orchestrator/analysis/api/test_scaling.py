"""Scaling, time to accuracy, goodput."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np
import pandas as pd
import pytest

import orchestrator.analysis as an
from orchestrator.metrics import at_least
from tests.orchestrator.analysis.made_runs import MadeRun, config

CEILING = "ceiling_samples_per_s"


def made_run(**speeds: float) -> MadeRun:
    """A run with a config a speed: ``w1=100`` is one of one worker."""
    made = MadeRun()
    for name, speed in speeds.items():
        made.add_runs(config(num_workers=int(name[1:])), [speed])
    return made


def test_speedup_and_efficiency_are_over_the_smallest_value() -> None:
    table = an.scaling(made_run(w4=360.0, w1=100.0, w2=190.0).tables)
    assert table.columns[0] == "params.num_workers"
    assert table["params.num_workers"].tolist() == [1, 2, 4]
    assert table["speedup"].tolist() == pytest.approx([1.0, 1.9, 3.6])
    assert table["efficiency"].tolist() == pytest.approx([1.0, 0.95, 0.9])
    assert table["speedup_low"].tolist() == pytest.approx([1.0, np.nan, np.nan], nan_ok=True)


def test_the_interval_is_that_of_two_means_with_the_pooled_spread() -> None:
    made = MadeRun()
    made.add_runs(config(num_workers=1), [100.0, 121.0])
    made.add_runs(config(num_workers=2), [200.0, 242.0])
    table = an.scaling(made.tables)
    # Both variances are of log 1.21 over two runs; Student's t with two degrees of freedom.
    error = math.sqrt(2 * (math.log(1.21) ** 2 / 2) / 2)
    assert table["speedup_high"][1] == pytest.approx(2 * math.exp(4.30265 * error), rel=1e-4)
    assert table["speedup_low"][1] == pytest.approx(2 * math.exp(-4.30265 * error), rel=1e-4)


def test_configs_that_differ_in_another_knob_are_another_family(run: an.RunTables) -> None:
    table = an.scaling(run)
    families = table.groupby("family")
    assert families.ngroups == 6
    assert (families["params.num_workers"].apply(list).map(tuple) == (0, 3, 6, 8)).all()
    assert (families["params.lr"].nunique() == 1).all()
    of_batch = an.scaling(run, knob="batch_size")
    assert of_batch.groupby("family").ngroups == 8
    assert set(of_batch["params.batch_size"]) == {500, 1000, 4000}


def test_the_ceiling_is_the_slower_of_loader_and_model() -> None:
    made = MadeRun()
    for workers, speed, loader in ((0, 50.0, 100.0), (1, 90.0, 100.0), (2, 100.0, 200.0)):
        ceilings = {
            "metrics.loader_only_samples_per_s": loader,
            "metrics.compute_only_samples_per_s": 110.0,
        }
        made.add_runs(config(num_workers=workers), [speed], **ceilings)
    table = an.scaling(made.tables).set_index("params.num_workers")
    assert table[CEILING].to_dict() == pytest.approx({0: 100.0, 1: 100.0, 2: 110.0})
    columns = an.scaling(made_run(w0=1, w1=2).tables).columns.tolist()
    assert an.scaling(made.tables).columns.tolist() == columns


@pytest.mark.parametrize(
    ("ask", "message"),
    [
        (lambda run: an.scaling(run, knob="num_worker"), "did you mean 'num_workers'"),
        (lambda run: an.scaling(run, knob="allocator"), "allocator is no number"),
        (lambda run: an.scaling(run, knob="params.threads"), "not varied; its values: 0"),
        (lambda run: an.scaling(MadeRun().tables), "none, since no config completed"),
        (lambda run: an.time_to_accuracy(run, target=90), "val_acc is a fraction of 1"),
        (
            lambda run: an.time_to_accuracy(
                replace(run, curves=run.curves.drop(columns="metrics.val_acc"))
            ),
            "no report of the run has the accuracy val_acc",
        ),
    ],
)
def test_wrong_use_is_one_message(
    ask: Callable[[an.RunTables], Any], message: str, run: an.RunTables
) -> None:
    with pytest.raises(an.TableError, match=message):
        ask(run)


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


def test_goodput_is_speed_times_the_samples_of_the_baseline_over_its_own() -> None:
    table = an.goodput(three_configs(), target=0.9)
    assert table["target"].tolist() == [0.9] * 3
    assert table["params.num_workers"].tolist()[:2] == [3, 0]
    expected = [0.5, 1.0, np.nan]
    assert table["efficiency"].tolist() == pytest.approx(expected, nan_ok=True)
    assert table["metrics.goodput"].tolist()[:2] == pytest.approx([12.5, 10.0])


def test_times_are_those_of_the_table_of_a_sweep_with_that_target() -> None:
    run = three_configs()
    asking = replace(run, sweep=replace(run.sweep, target=at_least("val_acc", 0.9)))
    times = an.time_to_accuracy(asking).set_index("params.num_workers")["reached_s"].dropna()
    of_table = asking.configs.set_index("params.num_workers")["metrics.time_to_accuracy_s"].dropna()
    assert times.to_dict() == of_table.to_dict()


def test_a_composed_config_takes_its_curves_samples_at_its_own_speed(
    factored: an.RunTables,
) -> None:
    table = an.goodput(factored, target=0.9)
    assert len(table) == len(an.configs(factored))
    alike = table[(table["params.lr"] == 0.01) & (table["params.batch_size"] == 4000)]
    assert alike["efficiency"].nunique() == 1
    assert alike["metrics.samples_per_s"].nunique() == 4
    assert an.time_to_accuracy(factored, target=0.9)["reached_s"].notna().all()
