"""Asynchronous successive halving: at a rung a trial trains on, or ends."""

from __future__ import annotations

import math
from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass, field

from orchestrator.kernel.problem import SearchProblem, key_of
from orchestrator.kernel.search import Pause, Proposal, Search
from orchestrator.metrics import Objective
from orchestrator.search.stopping.layers import top
from orchestrator.trial import Report, Stage, Trial, TrialResult


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


@dataclass(frozen=True, kw_only=True)
class Halving:
    """Comparison of curves at rungs.

    Attributes:
        aim: What they are compared by.
        rungs: Epochs after which they are compared, ascending.
        factor: One of so many trains on from a rung.
    """

    aim: Aim
    rungs: Sequence[int]
    factor: int


class EndingSearch(Search):
    """A search whose trials end at a rung where they are not among the best seen there so far.

    A trial is compared at its first report from a rung on that has the figures, with those that
    came there before it: of n the best ``n // factor`` train on, one at least.

    Args:
        search: Picks the configs.
        problem: Its problem.
        halving: How they are compared.
    """

    def __init__(self, search: Search, problem: SearchProblem, halving: Halving) -> None:
        self._search = search
        self._problem = problem
        self._aim = halving.aim
        self._factor = halving.factor
        self._rungs = {epochs: Rung(halving.aim) for epochs in halving.rungs}
        self._baseline = key_of(problem, problem.baseline)
        self._came_at: dict[tuple[int, Hashable], int] = {}
        self._ended: set[Hashable] = set()
        self.extends = search.extends

    def ask(self) -> Proposal | Pause | None:
        """Return the search's next trial."""
        return self._search.ask()

    def tell(self, trial: Trial, result: TrialResult) -> None:
        """Hand the result to the search."""
        self._search.tell(trial, result)

    def should_stop(self, trial: Trial, report: Report) -> bool:
        """Return True where the trial is not among the best at a rung, or the search says so."""
        by_search = self._search.should_stop(trial, report)
        return (self._is_compared(trial) and self._ends(trial, report)) or by_search

    def extend(self, trials: int) -> None:
        """Continue the search to ``trials`` configs in all."""
        self._search.extend(trials)

    def notes(self) -> list[str]:
        """Return the search's notes that were not returned yet."""
        return self._search.notes()

    def _is_compared(self, trial: Trial) -> bool:
        """Return True for a whole training of the search: no probe, and no pause of its own."""
        whole = trial.budget.epochs, trial.budget.pause_after, trial.budget.evaluated
        return trial.stage is Stage.TRAIN and whole == (self._problem.budget.epochs, None, True)

    def _ends(self, trial: Trial, report: Report) -> bool:
        key = key_of(self._problem, trial.config)
        name = key, trial.repeat
        reached = max((epochs for epochs in self._rungs if epochs <= report.epoch), default=None)
        if reached is None or not self._aim.is_known(report.metrics):
            return name in self._ended
        # In a retry, or in a resumed sweep, a trial comes to a rung once more.
        if report.epoch <= self._came_at.setdefault((reached, name), report.epoch):
            rung = self._rungs[reached]
            rung.add(name, report.metrics)
            keep = max(1, len(rung.entries) // self._factor)
            is_best = name in rung.best(keep) or key == self._baseline
            (self._ended.discard if is_best else self._ended.add)(name)
        return name in self._ended
