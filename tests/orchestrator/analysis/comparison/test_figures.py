"""The speed and the accuracy that two runs are compared by, and what of them is tolerated."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from orchestrator.analysis.comparison.compare import compare
from orchestrator.analysis.comparison.figures import own_by_stage
from orchestrator.analysis.statistics.common_change import Estimates
from orchestrator.metrics import Objective, at_least, maximize
from tests.orchestrator.analysis.comparison.drawn import run_of, with_sweep


def limits_with(accuracy: Objective) -> list[float]:
    """What is tolerated of the accuracy where it is this objective."""
    first, second = (
        with_sweep(run, objectives=(run.sweep.objectives[0], accuracy))
        for run in (run_of(1), run_of(2))
    )
    changes = compare(first, second).changes
    limits: list[float] = changes.loc[changes["metric"] == "val_acc", "limit_high"].tolist()
    return limits


def test_the_accuracy_may_fall_by_the_sweeps_own_tolerance() -> None:
    assert limits_with(maximize("val_acc")) == [0.005] * 5
    assert limits_with(at_least("val_acc", 0.9)) == [0.005] * 5
    assert limits_with(maximize("val_acc", tolerance=0.02)) == [0.02] * 5


def test_a_relative_tolerance_is_a_share_of_each_accuracy() -> None:
    run = run_of(1)
    levels = run.trials.groupby("params.num_workers")["metrics.val_acc"].mean()
    limits = limits_with(maximize("val_acc", tolerance=0.02, relative=True))
    assert sorted(limits[1:]) == pytest.approx(sorted(0.02 * levels))


def test_a_single_objective_is_compared_by_itself_and_by_validation_accuracy() -> None:
    first, second = (
        with_sweep(run, objectives=run.sweep.objectives[:1]) for run in (run_of(1), run_of(2))
    )
    assert set(compare(first, second).changes["metric"]) == {"samples_per_s", "val_acc"}
    of_accuracy = [with_sweep(r, objectives=(maximize("val_acc"),)) for r in (first, second)]
    assert set(compare(*of_accuracy).changes["metric"]) == {"val_acc"}


def test_the_tolerance_of_the_speed_is_as_wide_either_way() -> None:
    changes = compare(run_of(1), run_of(2), tolerance=0.2).changes
    speed = changes[changes["metric"] == "samples_per_s"]
    assert speed["limit_low"].tolist() == pytest.approx([0.8] * 5)
    assert speed["limit_high"].tolist() == pytest.approx([1.25] * 5)


def test_a_config_is_held_against_the_others_of_its_own_stage() -> None:
    rows = Estimates(
        logs=np.array([0.1, 0.3, 1.1, 1.0]), variances=np.full(4, 0.01), df=np.full(4, 8.0)
    )
    stages = np.array(["train", "train", "confirm", "confirm"], dtype=np.object_)
    assert own_by_stage(rows, stages).logs == pytest.approx([-0.2, 0.2, 0.1, -0.1])
    alone = replace(rows, logs=rows.logs[:1], variances=rows.variances[:1], df=rows.df[:1])
    assert np.isnan(own_by_stage(replace(alone, is_pooled=np.array([False])), stages[:1]).logs)
