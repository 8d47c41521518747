"""Time to accuracy, goodput."""

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np
import pandas as pd
import pytest

import orchestrator.analysis as an
from orchestrator.metrics import at_least
from tests.orchestrator.analysis.made_runs import MadeRun, config


@pytest.mark.parametrize(
    ("ask", "message"),
    [
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
    assert lower["reached_s"].tolist()[:2] == pytest.approx([8.0, 20.0])


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
    assert times.to_dict() == pytest.approx(of_table.to_dict())


def test_a_composed_config_takes_its_curves_samples_at_its_own_speed(
    factored: an.RunTables,
) -> None:
    table = an.goodput(factored, target=0.9)
    assert len(table) == len(an.configs(factored))
    alike = table[(table["params.lr"] == 0.01) & (table["params.batch_size"] == 4000)]
    assert alike["efficiency"].nunique() == 1
    assert alike["metrics.samples_per_s"].nunique() == 4
    assert an.time_to_accuracy(factored, target=0.9)["reached_s"].notna().all()
