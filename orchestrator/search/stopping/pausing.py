"""Successive halving of trials that can pause: a curve goes on once it is among the best."""

from __future__ import annotations

from collections.abc import Hashable
from dataclasses import dataclass, replace

from orchestrator.search.base import WAIT, Pause, Proposal, Search, SearchProblem
from orchestrator.search.stopping.rung import Rung
from orchestrator.search.stopping.wrapped import Halving, Wrapped
from orchestrator.trial import Report, Trial, TrialResult, TrialState


@dataclass(kw_only=True)
class _Curve:
    """A config's run.

    Attributes:
        asked: What the search asked for.
        rung: Position of the rung that it is at, or -1 before the first.
        is_out: True while a trial of it is asked for and has not ended.
        paused: Its last trial, and the result of it, while it is paused.
        is_told: True once the search knows its result.
    """

    asked: Proposal
    rung: int = -1
    is_out: bool = True
    paused: tuple[Trial, TrialResult] | None = None
    is_told: bool = False


class PausingSearch(Wrapped):
    """A search whose trials pause at the rungs, and go on where they are among the best there.

    At a rung where n have come the best ``n // factor`` go on; the highest rung comes first. When
    none is to go on, a new config starts. When there is no new one either, and no more will come to
    a rung, the best one of it goes on in any case.

    The search is told one result of each config: its last, if it was among the best whenever it
    was compared; else that of the rung at which it was not. It waits for no result in vain, and
    learns soon. Should such a config go on after all, as more come to its rung, the search is not
    told again.
    """

    def __init__(self, search: Search, problem: SearchProblem, halving: Halving) -> None:
        super().__init__(search, problem, halving)
        self._epochs = list(halving.rungs)
        self._curves: dict[Hashable, _Curve] = {}

    def ask(self) -> Proposal | Pause | None:
        """Return the next part of a curve that goes on, or the first one of a new config."""
        for rung in reversed(range(len(self._epochs))):
            if (name := self._going_on(rung, at_least=0)) is not None:
                return self._part(name)
        proposal = self._search.ask()
        if isinstance(proposal, Proposal):
            return self._begun(proposal)
        is_out = any(curve.is_out for curve in self._curves.values())
        if proposal is WAIT and is_out:
            return WAIT
        if (name := self._last_to_go_on()) is not None:
            return self._part(name)
        return WAIT if is_out else proposal

    def tell(self, trial: Trial, result: TrialResult) -> None:
        """Take a curve's result so far, or its last; tell the search."""
        curve = self._curves.get(self._name(trial))
        if curve is None or not self._is_part(trial):
            self._search.tell(trial, result)
            return
        curve.is_out = False
        if self._is_paused(trial, result):
            curve.paused = trial, result
            curve.rung = self._epochs.index(trial.budget.pause_after or 0)
            self._rung(curve.rung).add(self._name(trial), result.metrics)
        else:
            if result.state in (TrialState.FAILED, TrialState.INFEASIBLE):
                for rung in self._rungs.values():
                    rung.remove(self._name(trial))
            self._tell(curve, trial, result)
        self._tell_of_others()

    def should_stop(self, trial: Trial, report: Report) -> bool:
        """Return the search's verdict. The baseline, which never pauses, is compared too."""
        if self._is_compared(trial) and self._is_baseline(trial):
            reached = self._reached(report.epoch)
            if reached is not None and self._aim.is_known(report.metrics):
                rung, name = self._rungs[reached], self._name(trial)
                if name not in rung.entries or report.epoch == reached:
                    rung.add(name, report.metrics)
        return self._search.should_stop(trial, report)

    # -- which curve goes on

    def _going_on(self, rung: int, *, at_least: int) -> Hashable | None:
        """Return the first curve that is paused at a rung and among the best of it."""
        entries = self._rung(rung).entries
        best = self._rung(rung).best(max(len(entries) // self._factor, at_least))
        return next((name for name in entries if name in best and self._waits(name, rung)), None)

    def _last_to_go_on(self) -> Hashable | None:
        """Return a curve that goes on because no other one will come to its rung any more."""
        for rung in range(len(self._epochs)):
            if any(curve.is_out and curve.rung < rung for curve in self._curves.values()):
                return None
            if (name := self._going_on(rung, at_least=1)) is not None:
                return name
        return None

    def _waits(self, name: Hashable, rung: int) -> bool:
        curve = self._curves[name]
        return curve.paused is not None and curve.rung == rung

    def _rung(self, position: int) -> Rung:
        return self._rungs[self._epochs[position]]

    # -- from a curve to its next trial, and back

    def _begun(self, proposal: Proposal) -> Proposal:
        if not self._is_compared(proposal):
            return proposal
        self._curves[self._name(proposal)] = _Curve(asked=proposal)
        return proposal if self._is_baseline(proposal) else self._part(self._name(proposal))

    def _part(self, name: Hashable) -> Proposal:
        """Return the next part of a curve: up to the next rung, or to its end."""
        curve = self._curves[name]
        curve.is_out, curve.paused = True, None
        following = self._epochs[curve.rung + 1 : curve.rung + 2]
        pause_after = following[0] if following else None
        return replace(curve.asked, budget=replace(curve.asked.budget, pause_after=pause_after))

    def _is_part(self, trial: Trial) -> bool:
        return self._is_compared(replace(trial, budget=replace(trial.budget, pause_after=None)))

    def _is_paused(self, trial: Trial, result: TrialResult) -> bool:
        pause_after = trial.budget.pause_after
        if pause_after is None or result.state is not TrialState.STOPPED:
            return False
        return result.metrics.get("epochs", pause_after) >= pause_after

    # -- what the search is told

    def _tell(self, curve: _Curve, trial: Trial, result: TrialResult) -> None:
        if not curve.is_told:
            curve.is_told = True
            self._search.tell(trial, result)

    def _tell_of_others(self) -> None:
        """Tell the search of the curves that do not go on, as it looks now."""
        for position, rung in enumerate(self._rungs.values()):
            best = rung.best(len(rung.entries) // self._factor)
            for name in rung.entries:
                curve = self._curves[name]
                if curve.paused and curve.rung == position and name not in best:
                    self._tell(curve, *curve.paused)
