"""Layers and epsilon-nets against their definitions; Asha: rungs, goals, where trials end."""

import math
import random
from dataclasses import replace
from fractions import Fraction
from functools import cache
from typing import Any

import pytest

from orchestrator.kernel.search import Proposal
from orchestrator.metrics import at_most, maximize, minimize
from orchestrator.search import Asha
from orchestrator.search.layers import non_dominated_layers, ordered, top
from orchestrator.search.stopping import best
from orchestrator.trial import Budget, Report, Stage
from tests.orchestrator.search.playing import problem, trial_of

SIGNS = ([1.0], [-1.0], [1.0, 1.0], [1.0, -1.0], [-1.0, 1.0, 1.0])
"""Directions of one, two and three objectives."""


def tables(count: int) -> list[tuple[list[tuple[float, ...]], list[float]]]:
    """Return random points with directions, some of few values so that many are equal."""
    rng = random.Random(7)
    made = []
    for index in range(count):
        signs = SIGNS[index % len(SIGNS)]
        num_values = rng.choice([2, 4, 1000])
        points = [
            tuple(float(rng.randrange(num_values)) for _ in signs)
            for _ in range(rng.randint(0, 14))
        ]
        made.append((points, list(signs)))
    return made


def dominates(a: tuple[float, ...], b: tuple[float, ...], signs: list[float]) -> bool:
    """Return True if ``a`` is nowhere worse and somewhere better."""
    gains = [(x - y) * sign for x, y, sign in zip(a, b, signs, strict=True)]
    return min(gains) >= 0 and max(gains) > 0


def peeled(points: list[tuple[float, ...]], signs: list[float]) -> list[list[int]]:
    """Return the layers by their definition: repeatedly the points that no other dominates."""
    left, layers = list(range(len(points))), []
    while left:
        layer = [i for i in left if not any(dominates(points[j], points[i], signs) for j in left)]
        layers.append(layer)
        left = [i for i in left if i not in layer]
    return layers


def spread(points: list[tuple[float, ...]]) -> list[int]:
    """Return the epsilon-net by its definition, in fractions, all distances at each step."""

    columns = [[Fraction(x) for x in column] for column in zip(*points, strict=True)]
    spans = [max(column) - min(column) or Fraction(1) for column in columns]

    @cache
    def distance(i: int, j: int) -> Fraction:
        gaps = [(c[i] - c[j]) / span for c, span in zip(columns, spans, strict=True)]
        return sum((gap**2 for gap in gaps), start=Fraction(0))

    order: list[int] = []
    while len(order) < len(points):
        left = [i for i in range(len(points)) if i not in order]
        if not order:
            order.append(min(left, key=lambda i: (tuple(-x for x in points[i]), i)))
            continue
        far = {i: min(distance(i, j) for j in order) for i in left}
        order.append(max(left, key=lambda i: (far[i], -i)))
    return order


def test_layers_are_what_is_peeled_off_again_and_again() -> None:
    for points, signs in tables(1000):
        assert non_dominated_layers(points, signs) == peeled(points, signs)


@pytest.mark.parametrize("keep", [0, 1, 3, 20])
def test_the_top_are_the_beginning_of_the_order(keep: int) -> None:
    for points, signs in tables(200):
        signed = [tuple(x * s for x, s in zip(p, signs, strict=True)) for p in points]
        order = [
            layer[i] for layer in peeled(points, signs) for i in spread([signed[i] for i in layer])
        ]
        assert ordered(points, signs) == order
        assert top(points, signs, keep) == set(order[:keep])


SPEED, ACCURACY, MEMORY = maximize("samples_per_s"), maximize("val_acc"), at_most("peak_rss_gib", 8)
OF = problem(epochs=9, objectives=(SPEED, ACCURACY))


@pytest.mark.parametrize(
    ("asha", "epochs", "rungs"),
    [
        (Asha(grace=1), 10, [1, 3, 9]),
        (Asha(grace=2, factor=4), 40, [2, 8, 32]),
        (Asha(), 9, [1, 3]),
        (Asha(), 20, [3, 9]),
        (Asha(), 2, [1]),
        (Asha(), 1, []),
        (Asha(grace=9), 9, []),
    ],
)
def test_rungs_lie_below_the_budget(asha: Asha, epochs: int, rungs: list[int]) -> None:
    assert asha.rungs(epochs) == rungs


def test_goals_are_those_stated_or_all_objectives_but_conditions() -> None:
    loss = minimize("train_loss")
    assert Asha().goals((SPEED, ACCURACY, MEMORY)) == [SPEED, ACCURACY]
    assert Asha("train_loss").goals((SPEED, loss)) == [loss]
    assert Asha((loss, "val_acc")).goals((SPEED, ACCURACY)) == [loss, ACCURACY]


def test_a_mean_trial_takes_what_halving_leaves() -> None:
    assert Asha(grace=3).least_share(27) == pytest.approx((3 + 6 / 3 + 18 / 9) / 27)
    assert Asha(grace=9).least_share(9) == 1.0


@pytest.mark.parametrize(
    ("accuracies", "violating", "order"),
    [
        ([0.5, 0.9, math.nan, 0.7], [False] * 4, [1, 3, 0]),
        ([0.5, 0.9, 0.8, 0.7], [False, True, False, True], [2, 0, 1, 3]),
        ([0.5, 0.5, 0.5], [False] * 3, [0, 1, 2]),
    ],
)
def test_curves_without_figures_are_none_of_the_best_and_those_that_violate_are_last(
    accuracies: list[float], violating: list[bool], order: list[int]
) -> None:
    curves = {i: (violates, (accuracies[i],)) for i, violates in enumerate(violating)}
    for keep in range(len(accuracies) + 1):
        assert best(curves, [1.0], keep) == set(order[:keep])


def test_of_n_at_a_rung_the_best_third_trains_on_and_the_baseline_in_any_case() -> None:
    ending = Asha("val_acc", grace=1, factor=3).start(OF)
    accuracies = [0.1, 0.5, 0.4, 0.3, 0.2, 0.45, 0.6]
    stops = []
    for number, accuracy in enumerate(accuracies):
        config = {**OF.baseline, "lr": 0.1 + number / 100}
        trial = trial_of(Proposal(config=config, budget=OF.budget))
        reports = [
            Report(step=1, epoch=epoch, samples=1, elapsed_s=1.0, metrics={"val_acc": accuracy})
            for epoch in (1, 2)
        ]
        stops.append([ending.should_stop(trial, report) for report in reports])
    assert [any(each) for each in stops] == [False, False, True, True, True, False, False]


def test_a_trial_without_the_figure_trains_on_until_it_has_one() -> None:
    ending = Asha("val_acc", grace=1, factor=3).start(OF)
    configs = [{**OF.baseline, "lr": lr} for lr in (0.1, 0.2, 0.3)]
    trials = [trial_of(Proposal(config=config, budget=OF.budget)) for config in configs]

    def stops(trial: int, epoch: int, **metrics: float) -> bool:
        given = Report(step=epoch, epoch=epoch, samples=epoch, elapsed_s=1.0, metrics=metrics)
        return ending.should_stop(trials[trial], given)

    assert not stops(1, 1, val_acc=0.5)
    assert not stops(2, 1, train_loss=3.0)
    assert stops(2, 2, val_acc=0.4), "compared at its first report with the figure"
    assert stops(2, 2, val_acc=0.4), "its process may not have heard of it yet"
    assert not stops(2, 1, val_acc=0.6), "a retry comes to the rung once more"


@pytest.mark.parametrize(
    "changes",
    [
        {"stage": Stage.PROBE},
        {"budget": replace(OF.budget, pause_after=2)},
        {"budget": Budget(epochs=2)},
        {"budget": replace(OF.budget, evaluated=False)},
    ],
    ids=["probe", "own pause", "shorter", "speed alone"],
)
def test_what_is_no_whole_training_is_left_alone(changes: dict[str, Any]) -> None:
    ending = Asha("val_acc", grace=1).start(OF)
    whole = Proposal(config={**OF.baseline, "lr": 0.5}, budget=OF.budget)
    good, bad = (
        Report(step=1, epoch=1, samples=1, elapsed_s=1.0, metrics={"val_acc": accuracy})
        for accuracy in (0.9, 0.0)
    )
    other = replace(whole, config={**OF.baseline, "lr": 0.6})
    assert not ending.should_stop(trial_of(other), good)
    assert not ending.should_stop(trial_of(replace(whole, **changes)), bad)
    assert ending.should_stop(trial_of(whole), bad)
