"""Trials and their reports; figures to a target, goodput and cost, by hand."""

import math
from typing import Any

import numpy as np
import pytest

from orchestrator.derived import DerivedFigures, cost_of, target_value
from orchestrator.metrics import at_least, maximize
from orchestrator.trial import Budget, Report, Stage, Trial, TrialResult, TrialState, trial_id

NEAR = maximize("val_acc", tolerance=0.01)
DONE = TrialResult(
    state=TrialState.COMPLETED,
    metrics={"samples_per_s": 100.0, "val_acc": 0.9},
    wall_s=1800.0,
    cores=4,
)


def trial(name: str, *, stage: Stage = Stage.TRAIN, curve: str = "", pause: int | None = None):  # noqa: ANN201
    budget = Budget(epochs=3, pause_after=pause)
    return Trial(id=name, stage=stage, config={"gpus": 2}, budget=budget, seed=0, curve=curve)


def report(epoch: int, accuracy: float, *, train_s: float | None = None) -> Report:
    metrics = {"val_acc": accuracy} | ({} if train_s is None else {"train_s": train_s})
    return Report(
        step=10 * epoch, epoch=epoch, samples=1000 * epoch, elapsed_s=5.0 * epoch, metrics=metrics
    )


def train(figures: DerivedFigures, of: Trial, *accuracies: float, first: int = 1) -> TrialResult:
    for epoch, accuracy in enumerate(accuracies, start=first):
        figures.reported(of, report(epoch, accuracy, train_s=2.0 * epoch))
    return figures.completed(of, DONE)


def test_the_target_is_a_value_or_near_the_best() -> None:
    assert target_value(at_least("val_acc", 0.97), []) == 0.97
    assert target_value(NEAR, [0.5, 0.9, math.nan]) == pytest.approx(0.89)
    assert math.isnan(target_value(NEAR, []))


def test_time_and_goodput_to_a_given_value() -> None:
    figures = DerivedFigures(target=at_least("val_acc", 0.8))
    first = train(figures, trial("a"), 0.5, 0.8, 0.9)
    assert first.metrics["time_to_accuracy_s"] == 4.0
    assert first.metrics["goodput"] == 100.0  # the first there is the reference
    second = train(figures, trial("b"), 0.85)
    # At half the samples of the first, at the same rate.
    assert (second.metrics["time_to_accuracy_s"], second.metrics["goodput"]) == (2.0, 200.0)


def test_a_nearer_best_moves_the_target() -> None:
    figures = DerivedFigures(target=NEAR)
    assert train(figures, trial("a"), 0.80, 0.90).metrics["time_to_accuracy_s"] == 4.0
    train(figures, trial("b"), 0.95)
    assert "time_to_accuracy_s" not in figures.completed(trial("a"), DONE).metrics


def test_a_confirm_run_is_timed_and_moves_no_target() -> None:
    figures = DerivedFigures(target=NEAR)
    train(figures, trial("a"), 0.90)
    confirm = train(figures, trial("c", stage=Stage.CONFIRM), 0.5, 0.99)
    assert confirm.metrics["time_to_accuracy_s"] == 4.0
    assert "time_to_accuracy_s" in figures.completed(trial("a"), DONE).metrics


def test_a_curve_that_paused_continues() -> None:
    figures = DerivedFigures(target=at_least("val_acc", 0.8))
    train(figures, trial("a", curve="c", pause=1), 0.85)
    later = train(figures, trial("b", curve="c"), 0.9, first=2)
    assert later.metrics["time_to_accuracy_s"] == 2.0


def test_reports_before_a_restored_checkpoint_stay_and_later_ones_are_void() -> None:
    figures = DerivedFigures(target=at_least("val_acc", 0.8))
    one = trial("a")
    for each in (report(1, 0.5), report(2, 0.9), report(2, 0.7), report(3, 0.8)):
        figures.reported(one, each)
    assert figures.completed(one, DONE).metrics["time_to_accuracy_s"] == 15.0  # no train_s


def test_a_cost_is_of_cores_and_gpus() -> None:
    prices = {"cpu_hour": 0.04, "gpu_hour": 2.5}
    assert cost_of(DONE, 2, prices) == pytest.approx(0.5 * (4 * 0.04 + 2 * 2.5))
    assert cost_of(TrialResult(state=TrialState.INFEASIBLE), 2, prices) is None
    figures = DerivedFigures(prices=prices, num_gpus=lambda config: config["gpus"])
    assert figures.completed(trial("a"), DONE).metrics["cost"] == pytest.approx(2.58)


# -- trials and reports


def test_an_id_depends_on_the_content_and_not_on_its_order() -> None:
    assert trial_id({"a": 1, "b": 2}) == trial_id({"b": 2, "a": 1})
    assert trial_id({"a": 1, "b": 2}) != trial_id({"a": 1, "b": 3})


@pytest.mark.parametrize("samples", [10**30, 8.5, float("nan"), float("inf"), "x", None, [8]])
def test_a_report_counts_what_the_journal_can_store(samples: Any) -> None:  # noqa: ANN401 - of many types
    with pytest.raises(ValueError, match=r"samples = .* is not allowed: a whole number of 64 bits"):
        Report(step=1, epoch=1, samples=samples, elapsed_s=1.0, metrics={})


def test_a_report_counts_in_plain_numbers() -> None:
    report = Report(step=np.int64(1), epoch=1, samples=8.0, elapsed_s=1.0, metrics={})  # type: ignore[arg-type]
    assert [type(count) for count in (report.step, report.samples)] == [int, int]
