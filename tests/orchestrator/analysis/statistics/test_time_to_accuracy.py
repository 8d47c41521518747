from __future__ import annotations

import math
from dataclasses import replace

import numpy as np
import pandas as pd
import pytest

from orchestrator.analysis.rule import Rule
from orchestrator.analysis.statistics.time_to_accuracy import TimeToAccuracy, time_to_accuracy
from orchestrator.metrics import Objective, maximize, minimize

VAL_ACC = maximize("val_acc")
Curve = list[tuple[float, float]]
"""Pairs of a time and an accuracy."""


def found_in(
    *curves: list[Curve], accuracy: Objective = VAL_ACC, tolerance: float = 0.01
) -> TimeToAccuracy | None:
    """Configs in this order, each with its runs."""
    column = f"metrics.{accuracy.metric}"
    ids = [tuple(f"{i}-{j}" for j in range(len(runs))) for i, runs in enumerate(curves)]
    final = [np.mean([run[-1][1] for run in runs]) for runs in curves]
    reports = [
        {"trial_id": f"{i}-{j}", "elapsed_s": 100 + s, "metrics.train_s": s, column: value}
        for i, runs in enumerate(curves)
        for j, run in enumerate(runs)
        for s, value in run
    ]
    rule = Rule(objectives=(maximize("samples_per_s"), replace(accuracy, tolerance=tolerance)))
    configs = pd.DataFrame({"timed_ids": ids, column: final})
    return time_to_accuracy(configs, pd.DataFrame(reports), rule)


def test_many_small_steps_beat_few_large_ones_at_equal_time() -> None:
    """A fast epoch of one step learns less by any moment than a slower one of many steps."""
    one_step = [(t / 10, 0.5 + 0.002 * t) for t in range(1, 41)]
    many_steps = [(1.0, 0.85), (2.0, 0.90), (3.0, 0.92), (4.0, 0.92)]
    found = found_in([one_step], [many_steps])
    assert found is not None
    assert found.target == pytest.approx(0.91)
    assert found.common_s == 3.0
    assert found.configs.index.tolist() == [1, 0]
    assert found.configs["reached_s"].tolist() == [3.0, pytest.approx(math.nan, nan_ok=True)]
    assert found.configs["accuracy"].tolist() == pytest.approx([0.92, 0.56])
    assert found.configs["trained_s"].tolist() == [4.0, 4.0]


def test_the_first_report_that_is_there_counts_though_a_later_one_is_not() -> None:
    found = found_in([[(1.0, 0.95), (2.0, 0.80), (3.0, 0.95)]], [[(2.5, 0.95)]])
    assert found is not None
    assert found.configs["reached_s"].tolist() == [1.0, 2.5]
    assert found.configs["accuracy"].tolist() == [0.95, pytest.approx(math.nan, nan_ok=True)]


def test_half_of_the_runs_must_be_there() -> None:
    good, bad = [(1.0, 0.95)], [(1.0, 0.5)]
    slow = [(2.0, 0.95)]
    found = found_in([[(9.0, 0.95)]], [good, bad], [good, bad, bad], [slow, good, slow])
    assert found is not None
    told = found.configs.sort_index()
    assert told["reached_s"].tolist() == [9.0, 1.0, pytest.approx(math.nan, nan_ok=True), 2.0]
    assert told["num_reached"].tolist() == [1, 1, 1, 3]
    assert told["num_runs"].tolist() == [1, 2, 3, 3]


def test_a_loss_is_reached_from_above() -> None:
    falling = [(1.0, 2.0), (2.0, 0.6), (3.0, 0.5)]
    found = found_in([falling], [[(1.0, 3.0)]], accuracy=minimize("val_loss"), tolerance=0.2)
    assert found is not None
    assert found.target == pytest.approx(0.7)
    assert found.configs["reached_s"].tolist() == [2.0, pytest.approx(math.nan, nan_ok=True)]
    assert found.configs["accuracy"].tolist() == [0.6, 3.0]


def test_curves_that_never_get_there_tell_nothing() -> None:
    """The row's accuracy may be the best model's, which no report of the curve shows."""
    rule = Rule(objectives=(maximize("samples_per_s"), maximize("val_acc", tolerance=0.0)))
    configs = pd.DataFrame({"timed_ids": [("a",)], "metrics.val_acc": [0.9]})
    curve = pd.DataFrame({"trial_id": ["a"], "elapsed_s": [1.0], "metrics.val_acc": [0.8]})
    assert time_to_accuracy(configs, curve, rule) is None
    assert time_to_accuracy(configs, curve.drop(columns="metrics.val_acc"), rule) is None
    assert time_to_accuracy(configs.iloc[:0], curve, rule) is None
    there = time_to_accuracy(configs, curve.assign(**{"metrics.val_acc": 0.9}), rule)
    assert there is not None
    assert there.clock == "elapsed_s"
