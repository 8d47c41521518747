"""A rung of successive halving: figures of learning curves after the same number of epochs."""

from __future__ import annotations

import math
from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass, field

from orchestrator.metrics import Objective
from orchestrator.search.stopping.layers import top


@dataclass(frozen=True, kw_only=True)
class Aim:
    """Figures that curves are compared by.

    Attributes:
        goals: Metrics to improve, one or more.
        bounds: Conditions. A config that violates one is behind all that hold them.
    """

    goals: Sequence[Objective]
    bounds: Sequence[Objective] = ()

    def entry(self, metrics: Mapping[str, float]) -> Entry:
        """Return what a curve with these figures counts as."""
        point = tuple(metrics.get(goal.metric, math.nan) for goal in self.goals)
        return Entry(point=point, holds=all(_holds(bound, metrics) for bound in self.bounds))

    def is_known(self, metrics: Mapping[str, float]) -> bool:
        """Return True if every goal has a figure."""
        return all(goal.metric in metrics for goal in self.goals)


@dataclass(frozen=True, kw_only=True)
class Entry:
    """A curve at a rung.

    Attributes:
        point: A figure for each goal; NaN where it has none.
        holds: True where it violates no condition.
    """

    point: tuple[float, ...]
    holds: bool

    @property
    def rank(self) -> int:
        """0 for one that holds the conditions, 1 where it does not, 2 without figures."""
        if not all(map(math.isfinite, self.point)):
            return 2
        return 0 if self.holds else 1


@dataclass
class Rung:
    """Curves that have come to a rung, in the order in which they came.

    Attributes:
        aim: What they are compared by.
        entries: What each one counts as, by its name.
    """

    aim: Aim
    entries: dict[Hashable, Entry] = field(default_factory=dict)
    _best: dict[int, set[Hashable]] = field(default_factory=dict)

    def add(self, name: Hashable, metrics: Mapping[str, float]) -> None:
        """Take a curve's figures; one that comes here once more keeps its place."""
        self.entries[name] = self.aim.entry(metrics)
        self._best.clear()

    def remove(self, name: Hashable) -> None:
        """Leave out a curve that has failed since."""
        self.entries.pop(name, None)
        self._best.clear()

    def best(self, keep: int) -> set[Hashable]:
        """Return the names of the best ``keep``; see :mod:`orchestrator.search.stopping.layers`.

        Of equal ones those that came first. None without figures is among them.
        """
        if keep not in self._best:
            self._best[keep] = self._chosen(keep)
        return self._best[keep]

    def _chosen(self, keep: int) -> set[Hashable]:
        signs = [goal.sign for goal in self.aim.goals]
        chosen: set[Hashable] = set()
        for rank in (0, 1):
            names = [name for name, entry in self.entries.items() if entry.rank == rank]
            points = [self.entries[name].point for name in names]
            chosen |= {names[i] for i in top(points, signs, keep - len(chosen))}
        return chosen


def _holds(bound: Objective, metrics: Mapping[str, float]) -> bool:
    """Return False if a figure violates a condition; one that is not there does not."""
    if bound.bound is None or bound.metric not in metrics:
        return True
    return bound.sign * (metrics[bound.metric] - bound.bound) >= 0
