"""The composed front: each group's fastest setting with each of its curves."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from orchestrator.kernel.problem import Key
from orchestrator.search.factored.factors import Group
from orchestrator.search.factored.findings import Figures, Findings
from orchestrator.search.stopping.layers import non_dominated_layers

NOISE: Final = 0.5
"""Share of a tolerance within which a curve may be as good as another one."""


@dataclass(frozen=True, kw_only=True)
class Point:
    """A trained curve with its group's fastest setting.

    Attributes:
        group: The group.
        config: The config that the curve was trained with.
        log_speed: Mean logarithm of the setting's speed.
        figures: Mean figures of the curve over its seeds.
    """

    group: Group
    config: Key
    log_speed: float
    figures: Figures


def points(findings: Findings, assigned: Sequence[tuple[Group, Key]]) -> list[Point]:
    """Return the points of the curves that were trained to their end."""
    found = [(group, key, findings.mean_figures(key)) for group, key in assigned]
    return [
        Point(group=group, config=key, log_speed=findings.log_speed(group), figures=figures)
        for group, key, figures in found
        if figures is not None
    ]


def front(known: Sequence[Point]) -> list[Point]:
    """Return the points that no other one dominates, the fastest first."""
    if not known:
        return []
    signs = [1.0] * (1 + len(known[0].figures))
    first, *_ = non_dominated_layers([(each.log_speed, *each.figures) for each in known], signs)
    return sorted((known[i] for i in first), key=lambda point: point.log_speed, reverse=True)


def near_front(findings: Findings, known: Sequence[Point]) -> list[Point]:
    """Return the points of the front, and those that are within noise of them.

    A point is beyond noise where another one is as fast, learns nothing worse, and something better
    by more than the noise of one run.
    """
    goals = findings.goals
    members = front(known)

    def is_beaten(point: Point) -> bool:
        return any(
            other.log_speed >= point.log_speed
            and goals.is_within(other.figures, point.figures, 0)
            and not goals.is_within(point.figures, other.figures, NOISE)
            for other in members
        )

    return [point for point in known if not is_beaten(point)]
