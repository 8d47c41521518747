"""Asynchronous successive halving, ``stopping=Asha("val_acc")``: at a rung a trial may end."""

import math
from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass
from typing import Annotated

from msgspec import Meta

from orchestrator.kernel.problem import SearchProblem, key_of
from orchestrator.kernel.search import Search
from orchestrator.metrics import Objective
from orchestrator.search.grid import MOST, Count, require_types
from orchestrator.search.layers import Point, top
from orchestrator.trial import Report, Stage, Trial

REDUCTIONS = 2
"""Rungs of a grace period that is not stated, where the budget has room for them."""


@dataclass(frozen=True)
class Asha:
    """Trains few configs to the end: at each rung the best train on, the others end.

    Rungs are at ``grace``, ``grace * factor``, ``grace * factor**2``, ... epochs, up to the budget.
    All configs have seen the same number of samples there, whatever their batch size. A trial ends
    at a rung where it is not among the best 1/``factor`` of those seen there so far: the stopping
    variant of ASHA, as in Ray Tune. (Li, Jamieson, Rostamizadeh, Gonina, Ben-tzur, Hardt, Recht and
    Talwalkar, "A System for Massively Parallel Hyperparameter Tuning", MLSys 2020.)

    The baseline always trains to the end. With one metric the best are those with the best values.
    With several they are the first non-dominated layers, and of a layer that has too many those
    that are spread out most: :mod:`orchestrator.search.layers`.

    Attributes:
        metric: Name of an objective of the sweep, or several; or objectives, made with
            ``maximize`` and ``minimize``. Empty: the sweep's objectives. Conditions of the sweep
            (``at_least``, ``at_most``) count in any case.
        grace: Epochs that each config trains at least. None: the budget by ``factor`` twice.
        factor: One of so many trains on from a rung.
    """

    metric: str | Objective | Sequence[str | Objective] = ()
    grace: Count | None = None
    factor: Annotated[int, Meta(ge=2, le=MOST, description="an int >= 2")] = 3

    def __post_init__(self) -> None:
        require_types(self)

    def rungs(self, epochs: int) -> list[int]:
        """Return the epochs after which trials of ``epochs`` are compared; empty for none."""
        rung = self.grace or -(-epochs // self.factor**REDUCTIONS)
        rungs = []
        while rung < epochs:
            rungs.append(rung)
            rung *= self.factor
        return rungs

    def least_share(self, epochs: int) -> float:
        """Return the least part of a whole training that a mean trial takes."""
        share, left, before = 0.0, 1.0, 0
        for end in [*self.rungs(epochs), epochs]:
            share += left * (end - before) / epochs
            left, before = left / self.factor, end
        return share

    @property
    def metrics(self) -> tuple[str | Objective, ...]:
        """Return the metrics that are stated, however many."""
        if isinstance(self.metric, str | Objective):
            return (self.metric,)
        return tuple(self.metric)

    def goals(self, objectives: Sequence[Objective]) -> list[Objective]:
        """Return the metrics that trials are compared by, given the sweep's objectives."""
        goals = {o.metric: o for o in objectives if o.bound is None}
        stated = [goals[each] if isinstance(each, str) else each for each in self.metrics]
        return stated or list(goals.values())

    def start(self, problem: SearchProblem) -> "Ending":
        """Return the comparison of a search's trials, which none has begun."""
        return Ending(problem, self)


def best(
    curves: Mapping[Hashable, tuple[bool, Point]], signs: Sequence[float], keep: int
) -> set[Hashable]:
    """Return the names of the best ``keep`` curves; see :mod:`orchestrator.search.layers`.

    Equal curves keep the order in which they came. A curve with a figure that is not finite is left
    out.

    Args:
        curves: For each name, in the order in which they came: True if it violates a condition,
            which places it behind all that do not; its figures.
        signs: For each figure +1 where larger is better, -1 where smaller is.
        keep: How many.
    """
    chosen: set[Hashable] = set()
    for behind in (False, True):
        able = [
            (name, point)
            for name, (violates, point) in curves.items()
            if violates is behind and all(map(math.isfinite, point))
        ]
        chosen |= {able[i][0] for i in top([p for _, p in able], signs, keep - len(chosen))}
    return chosen


class Ending(Search):
    """Ends trials at a rung where they are not among the best seen there so far.

    A trial is compared at its first report from a rung on that has the figures, with those that
    came there before it: of n the best ``n // factor`` train on, one at least.

    Args:
        problem: The problem of the search.
        asha: How trials are compared.
    """

    def __init__(self, problem: SearchProblem, asha: Asha) -> None:
        self._problem, self._factor = problem, asha.factor
        self._goals = asha.goals(problem.objectives)
        self._signs = [goal.sign for goal in self._goals]
        self._bounds = [each for each in problem.objectives if each.bound is not None]
        self._rungs: dict[int, dict[Hashable, tuple[bool, Point]]] = {
            epochs: {} for epochs in asha.rungs(problem.budget.epochs)
        }
        self._baseline = key_of(problem, problem.baseline)
        self._came_at: dict[tuple[int, Hashable], int] = {}
        self._ended: set[Hashable] = set()

    def should_stop(self, trial: Trial, report: Report) -> bool:
        """Return True where a whole training is not among the best at a rung.

        No probe is compared, and no paused part.
        """
        budget = trial.budget
        is_whole = budget.evaluated and budget.end == self._problem.budget.epochs
        if trial.stage is not Stage.TRAIN or not is_whole:
            return False
        key = key_of(self._problem, trial.config)
        name = key, trial.repeat
        reached = max((epochs for epochs in self._rungs if epochs <= report.epoch), default=None)
        if reached is None or any(goal.metric not in report.metrics for goal in self._goals):
            return name in self._ended
        # In a retry, or in a resumed sweep, a trial comes to a rung once more.
        if report.epoch <= self._came_at.setdefault((reached, name), report.epoch):
            rung = self._rungs[reached]
            violates = not all(bound.holds(report.metrics) for bound in self._bounds)
            rung[name] = violates, tuple(report.metrics[goal.metric] for goal in self._goals)
            is_best = name in best(rung, self._signs, max(1, len(rung) // self._factor))
            (self._ended.discard if is_best or key == self._baseline else self._ended.add)(name)
        return name in self._ended
