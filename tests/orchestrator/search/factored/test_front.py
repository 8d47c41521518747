"""The composed front, and what is within noise of it."""

from __future__ import annotations

import pytest

from orchestrator.metrics import maximize
from orchestrator.search import Factored
from orchestrator.search.factored.findings import Findings
from orchestrator.search.factored.front import Point, front, near_front, points
from orchestrator.search.factored.goal import goals_of
from orchestrator.search.factored.speeds import Speeds
from tests.orchestrator.search.factored.simulated import problem
from tests.orchestrator.search.playing import completed


@pytest.fixture
def findings() -> Findings:
    return findings_of("val_acc")


def findings_of(*learned: str) -> Findings:
    objectives = [maximize("samples_per_s"), *map(maximize, learned)]
    factors = Factored().factors(problem(objectives=objectives))
    goals = goals_of(factors.problem)
    return Findings(factors, goals, Speeds(goals, 4, 0.05))


def known(findings: Findings, *found: tuple[float, ...]) -> list[Point]:
    group = findings.factors.groups[0]
    return [
        Point(group=group, config=(i,), log_speed=speed, figures=figures)
        for i, (speed, *figures) in enumerate(found)
    ]


def test_the_front_is_sorted_by_speed(findings: Findings) -> None:
    some = known(findings, (1.0, 0.97), (3.0, 0.9), (2.0, 0.89), (2.5, 0.95))
    assert front(some) == [some[1], some[3], some[0]]
    assert front([]) == []


def test_half_a_tolerance_below_a_faster_one_is_within_noise(findings: Findings) -> None:
    some = known(findings, (2.0, 0.97), (1.0, 0.968), (1.0, 0.967), (3.0, 0.9))
    assert near_front(findings, some) == [some[0], some[1], some[3]]


def test_of_two_learned_figures_the_whole_front_is_near_it() -> None:
    """One that is faster and worse in a single figure beats nothing."""
    findings = findings_of("val_acc", "val_f1_acc")
    some = known(findings, (2.0, 0.97, 0.7), (1.0, 0.95, 0.9), (1.0, 0.95, 0.69))
    assert near_front(findings, some) == front(some) == some[:2]


def test_points_are_of_whole_curves_with_the_fastest_setting(findings: Findings) -> None:
    group = findings.factors.groups[0]
    for rate, setting in enumerate(group.settings, start=1):
        findings.speeds.add(setting, completed(samples_per_s=1000.0 + rate))
    whole, part = (group.configs[group.settings[0], curve] for curve in group.curves[:2])
    for repeat, accuracy in enumerate((0.9, 0.92)):
        curve = findings.curve(whole, repeat)
        curve.seen(9, (accuracy,))
        curve.is_over = True
    findings.curve(part).seen(1, (0.99,))
    (point,) = points(findings, [(group, whole), (group, part)])
    assert point.figures == pytest.approx((0.91,))
    assert point.log_speed == findings.speeds.mean(group.settings[-1])
