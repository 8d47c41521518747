"""Asynchronous successive halving, ``stopping=Asha("val_acc")``: at a rung a trial may end."""

from __future__ import annotations

import math
from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass
from typing import Annotated

from msgspec import Meta

from orchestrator.kernel.problem import SearchProblem, key_of
from orchestrator.metrics import Objective
from orchestrator.search.grid import MOST, Count, require_types
from orchestrator.search.layers import top
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

    def unknown(self, objectives: Sequence[Objective]) -> list[str]:
        """Return the names stated that are no objective of the sweep."""
        known = {objective.metric for objective in objectives if objective.bound is None}
        return [each for each in self.metrics if isinstance(each, str) and each not in known]

    def goals(self, objectives: Sequence[Objective]) -> list[Objective]:
        """Return the metrics that trials are compared by, given the sweep's objectives."""
        goals = {o.metric: o for o in objectives if o.bound is None}
        stated = [goals[each] if isinstance(each, str) else each for each in self.metrics]
        return stated or list(goals.values())

    def start(self, problem: SearchProblem) -> Ending:
        """Return the comparison of a search's trials, which none has begun."""
        return Ending(problem, self)


class Rung:
    """Curves that have come to a rung, in the order in which they came.

    Args:
        goals: Metrics to improve, one or more.
        bounds: Conditions. A curve that violates one is behind all that keep them.
    """

    def __init__(self, goals: Sequence[Objective], bounds: Sequence[Objective] = ()) -> None:
        self._goals, self._bounds = goals, bounds
        self._curves: dict[Hashable, tuple[bool, tuple[float, ...]]] = {}

    def __len__(self) -> int:
        """Return the number of curves."""
        return len(self._curves)

    def add(self, name: Hashable, metrics: Mapping[str, float]) -> None:
        """Take a curve's figures; a curve that comes here once more keeps its place."""
        violates = not all(bound.holds(metrics) for bound in self._bounds)
        point = tuple(metrics.get(goal.metric, math.nan) for goal in self._goals)
        self._curves[name] = violates, point

    def best(self, keep: int) -> set[Hashable]:
        """Return the names of the best ``keep``; see :mod:`orchestrator.search.layers`.

        Of equal curves those that came first. None without figures is among them.
        """
        signs = [goal.sign for goal in self._goals]
        chosen: set[Hashable] = set()
        for behind in (False, True):
            able = [
                (name, point)
                for name, (violates, point) in self._curves.items()
                if violates is behind and all(map(math.isfinite, point))
            ]
            best = top([point for _, point in able], signs, keep - len(chosen))
            chosen |= {able[i][0] for i in best}
        return chosen


class Ending:
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
        bounds = [objective for objective in problem.objectives if objective.bound is not None]
        rungs = asha.rungs(problem.budget.epochs)
        self._rungs = {epochs: Rung(self._goals, bounds) for epochs in rungs}
        self._baseline = key_of(problem, problem.baseline)
        self._came_at: dict[tuple[int, Hashable], int] = {}
        self._ended: set[Hashable] = set()

    def should_stop(self, trial: Trial, report: Report) -> bool:
        """Return True where a whole training is not among the best at a rung.

        No probe is compared, and no paused part.
        """
        whole = trial.budget.epochs, trial.budget.pause_after, trial.budget.evaluated
        if trial.stage is not Stage.TRAIN or whole != (self._problem.budget.epochs, None, True):
            return False
        key = key_of(self._problem, trial.config)
        name = key, trial.repeat
        reached = max((epochs for epochs in self._rungs if epochs <= report.epoch), default=None)
        if reached is None or any(goal.metric not in report.metrics for goal in self._goals):
            return name in self._ended
        # In a retry, or in a resumed sweep, a trial comes to a rung once more.
        if report.epoch <= self._came_at.setdefault((reached, name), report.epoch):
            rung = self._rungs[reached]
            rung.add(name, report.metrics)
            is_best = name in rung.best(max(1, len(rung) // self._factor))
            (self._ended.discard if is_best or key == self._baseline else self._ended.add)(name)
        return name in self._ended
