"""The objectives, as a factored search serves them."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace

import pytest

from orchestrator.metrics import Objective, at_least, at_most, maximize, minimize
from orchestrator.search.factored.goals import Goals, goals_of
from tests.orchestrator.search.factored.simulated import problem
from tests.orchestrator.search.playing import completed

SPEED, ACCURACY = maximize("samples_per_s"), maximize("val_acc")


def of(objectives: Sequence[Objective], target: Objective | None = None) -> Goals:
    return goals_of(replace(problem(), objectives=tuple(objectives), target=target))


def test_objectives_are_split_into_speed_learning_and_conditions() -> None:
    goals = of([minimize("epoch_s"), ACCURACY, at_most("peak_rss_gib", 2)])
    assert goals.speed.metric == "epoch_s"
    assert [each.metric for each in goals.learned] == ["val_acc"]
    assert [each.metric for each in goals.conditions] == ["peak_rss_gib"]
    assert goals.holds({"peak_rss_gib": 2.0})
    assert goals.holds({}), "not known to be violated"
    assert not goals.holds({"peak_rss_gib": 2.1})


@pytest.mark.parametrize("metric", ["time_to_accuracy_s", "goodput", "cost", "energy_j"])
def test_of_a_whole_training_a_probe_knows_the_rate_alone(metric: str) -> None:
    assert of([minimize(metric), ACCURACY]).speed == SPEED


def test_figures_are_the_larger_the_better_and_tolerances_their_own() -> None:
    goals = of([SPEED, ACCURACY, minimize("train_loss", tolerance=0.1)])
    assert goals.tolerances == (0.005, 0.1)
    assert goals.figures({"val_acc": 0.9, "train_loss": 0.3}) == (0.9, -0.3)
    assert goals.figures({"val_acc": 0.9}) is None
    assert goals.figures({"val_acc": 0.9, "train_loss": math.nan}) is None
    assert goals.is_within((0.896, -0.35), (0.9, -0.3))
    assert not goals.is_within((0.894, -0.3), (0.9, -0.3))


@pytest.mark.parametrize(
    ("objectives", "target", "final"),
    [
        ([SPEED, ACCURACY], None, True),
        ([minimize("time_to_accuracy_s"), ACCURACY], at_least("val_acc", 0.9), False),
        ([minimize("time_to_accuracy_s"), ACCURACY], maximize("val_acc", tolerance=0.01), True),
        ([minimize("goodput"), maximize("val_f1")], at_least("val_acc", 0.9), True),
    ],
)
def test_final_figures_count_unless_a_given_target_is_all_that_is_asked_for(
    objectives: list[Objective], target: Objective | None, *, final: bool
) -> None:
    goals = of(objectives, target)
    assert goals.are_final == final
    assert goals.is_best_all == (target is not None and target.bound is None)
    assert goals.learned[0].metric == "val_acc" or target is None


def test_a_speed_that_is_minimised_is_the_larger_the_faster() -> None:
    own, rate = of([minimize("epoch_s"), ACCURACY]).log_speeds(
        completed(epoch_s=2.0, samples_per_s=100.0)
    )
    assert (own, rate) == (-math.log(2), math.log(100))
    assert math.isnan(of([SPEED, ACCURACY]).log_speeds(completed(samples_per_s=0.0))[0])
