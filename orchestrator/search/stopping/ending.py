"""Successive halving of trials that cannot pause: at a rung a trial trains on, or ends."""

from __future__ import annotations

from collections.abc import Hashable

from orchestrator.search.base import Search, SearchProblem
from orchestrator.search.stopping.wrapped import Halving, Wrapped
from orchestrator.trial import Report, Trial


class EndingSearch(Wrapped):
    """A search whose trials end at a rung where they are not among the best seen there so far.

    A trial is compared at its first report from a rung on that has the figures, with those that
    came there before it: of n the best ``n // factor`` train on, one at least.
    """

    def __init__(self, search: Search, problem: SearchProblem, halving: Halving) -> None:
        super().__init__(search, problem, halving)
        self._came_at: dict[tuple[int, Hashable], int] = {}
        self._ended: set[Hashable] = set()

    def should_stop(self, trial: Trial, report: Report) -> bool:
        """Return True where the trial is not among the best at a rung, or the search says so."""
        by_search = self._search.should_stop(trial, report)
        return (self._is_compared(trial) and self._ends(trial, report)) or by_search

    def _ends(self, trial: Trial, report: Report) -> bool:
        name, reached = self._name(trial), self._reached(report.epoch)
        if reached is None or not self._aim.is_known(report.metrics):
            return name in self._ended
        # In a retry, or in a resumed sweep, a trial comes to a rung once more.
        if report.epoch <= self._came_at.setdefault((reached, name), report.epoch):
            rung = self._rungs[reached]
            rung.add(name, report.metrics)
            keep = max(1, len(rung.entries) // self._factor)
            is_best = name in rung.best(keep) or self._is_baseline(trial)
            (self._ended.discard if is_best else self._ended.add)(name)
        return name in self._ended
