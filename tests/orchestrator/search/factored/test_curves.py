"""Curves: rungs, what is left at them, nothing trained twice; the composed front."""

from __future__ import annotations

import pytest

from orchestrator.metrics import maximize
from orchestrator.search.factored.curves import (
    Point,
    front,
    near_front,
    rungs,
    survivors,
    unbeaten,
)
from orchestrator.search.factored.factors import Group
from orchestrator.search.factored.findings import Curve, Findings
from tests.orchestrator.search.factored import simulated
from tests.orchestrator.search.playing import completed


@pytest.mark.parametrize(
    ("epochs", "expected"),
    [(1, (1,)), (2, (1, 2)), (3, (1, 3)), (9, (1, 3, 9)), (10, (2, 4, 10)), (90, (10, 30, 90))],
)
def test_rungs_are_whole_epochs(epochs: int, expected: tuple[int, ...]) -> None:
    assert rungs(epochs) == expected


def findings(*objectives: str) -> Findings:
    named = [maximize("samples_per_s"), *map(maximize, objectives or ("val_acc",))]
    return simulated.findings(objectives=named)


def curves(*figures: tuple[float, ...] | None) -> list[Curve]:
    found = [Curve(config=(i,), repeat=0) for i in range(len(figures))]
    for curve, each in zip(found, figures, strict=True):
        curve.is_lost = each is None
        if each is not None:
            curve.seen(1, each)
    return found


@pytest.mark.parametrize(
    ("figures", "kept", "left"),
    [
        ([0.90, 0.7, 0.80, 0.796, None], [], [0, 2, 3]),
        ([0.90, 0.80, 0.70, 0.697, 0.694, 0.5], [], [0, 1, 2, 3, 4]),
        ([0.9, 0.1, None], [1, 2], [0, 1]),
    ],
)
def test_the_better_two_thirds_are_left_and_what_is_within_the_tolerance_or_kept(
    figures: list[float | None], kept: list[int], left: list[int]
) -> None:
    known = curves(*(None if each is None else (each,) for each in figures))
    found = survivors(findings(), known, kept=[known[i] for i in kept], epochs=1)
    assert found == [known[i] for i in left]


def test_a_curve_that_was_trained_further_has_no_lead_by_that() -> None:
    """One of a knob that was tried out is whole before the others have begun."""
    known = curves((0.5,), (0.6,), (0.6,), (0.6,))
    known[0].seen(9, (0.97,))
    assert survivors(findings(), known, kept=(), epochs=1) == known[1:]

    of_two, left = two_groups(500.0, 0.85)
    (best,), (worse,) = left.values()
    best.history = [(3, (0.84,)), (9, (0.9,))]
    worse.history = [(3, (0.85,))]
    assert list(unbeaten(of_two, left, kept=(), epochs=3).values()) == list(left.values())


def two_groups(speed: float, figure: float) -> tuple[Findings, dict[Group, list[Curve]]]:
    """A first group of speed 1,000 and accuracy 0.9, and a second one."""
    known = findings()
    one, other, *_ = known.factors.groups
    for group, rate in ((one, 1000.0), (other, speed)):
        known.speeds.add(group.settings[0], completed(samples_per_s=rate))
    best, worse = curves((0.9,), (figure,))
    return known, {one: [best], other: [worse]}


@pytest.mark.parametrize(
    ("speed", "figure", "is_left"),
    [(500.0, 0.85, False), (950.0, 0.85, True), (500.0, 0.895, True), (2000.0, 0.5, True)],
)
def test_a_group_is_left_only_where_another_one_surely_beats_it_in_both(
    speed: float, figure: float, is_left: bool
) -> None:
    known, left = two_groups(speed, figure)
    after = list(unbeaten(known, left, kept=(), epochs=1).values())
    assert after == [
        curves_ if i == 0 or is_left else [] for i, curves_ in enumerate(left.values())
    ]
    assert list(
        unbeaten(known, left, kept=after[0] + list(left.values())[1], epochs=1).values()
    ) == list(left.values())


def made_points(known: Findings, *found: tuple[float, ...]) -> list[Point]:
    group = known.factors.groups[0]
    return [
        Point(group=group, config=(i,), log_speed=speed, figures=figures)
        for i, (speed, *figures) in enumerate(found)
    ]


def test_half_a_tolerance_below_a_faster_one_is_within_noise() -> None:
    known = findings()
    some = made_points(known, (2.0, 0.97), (1.0, 0.968), (1.0, 0.967), (3.0, 0.9))
    assert near_front(known, some) == [some[0], some[1], some[3]]
    assert front(some) == [some[3], some[0]], "the fastest first"


def test_of_two_learned_figures_the_whole_front_is_near_it() -> None:
    """One that is faster and worse in a single figure beats nothing."""
    known = findings("val_acc", "val_f1_acc")
    some = made_points(known, (2.0, 0.97, 0.7), (1.0, 0.95, 0.9), (1.0, 0.95, 0.69))
    assert near_front(known, some) == front(some) == some[:2]
