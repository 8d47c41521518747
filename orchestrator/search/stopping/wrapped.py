"""Base of both kinds of successive halving, around the search that picks the configs."""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from dataclasses import dataclass

from orchestrator.search.base import Extends, Pause, Proposal, Search, SearchProblem, Speaks
from orchestrator.search.candidates import key_of
from orchestrator.search.stopping.rung import Aim, Rung
from orchestrator.trial import Report, Stage, Trial, TrialResult


@dataclass(frozen=True, kw_only=True)
class Halving:
    """Comparison of curves at rungs.

    Attributes:
        aim: What they are compared by.
        rungs: Epochs after which they are, ascending.
        factor: One of so many goes on at a rung.
    """

    aim: Aim
    rungs: Sequence[int]
    factor: int


class Wrapped:
    """A search around another one, whose whole trainings are compared at rungs.

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

    def ask(self) -> Proposal | Pause | None:
        """Return the search's next trial."""
        return self._search.ask()

    def tell(self, trial: Trial, result: TrialResult) -> None:
        """Tell the search."""
        self._search.tell(trial, result)

    def should_stop(self, trial: Trial, report: Report) -> bool:
        """Return the search's verdict."""
        return self._search.should_stop(trial, report)

    @property
    def extends(self) -> bool:
        """Return True if the search can go on to more configs."""
        return isinstance(self._search, Extends) and self._search.extends

    def extend(self, trials: int) -> None:
        """Go on to ``trials`` configs in all."""
        assert isinstance(self._search, Extends), "it is asked whether it can"
        self._search.extend(trials)

    def notes(self) -> list[str]:
        """Return the search's notes that were not handed out yet."""
        return self._search.notes() if isinstance(self._search, Speaks) else []

    def _is_compared(self, asked: Trial | Proposal) -> bool:
        """Return True for a whole training of the search: no probe, and no pause of its own."""
        whole = asked.budget.epochs, asked.budget.pause_after, asked.budget.evaluated
        return asked.stage is Stage.TRAIN and whole == (self._problem.budget.epochs, None, True)

    def _is_baseline(self, asked: Trial | Proposal) -> bool:
        return key_of(self._problem, asked.config) == self._baseline

    def _name(self, asked: Trial | Proposal) -> Hashable:
        """Return what a config's run is called at every rung."""
        return key_of(self._problem, asked.config), asked.repeat

    def _reached(self, epoch: int) -> int | None:
        """Return the last rung that a trial has come to; None before the first."""
        return max((epochs for epochs in self._rungs if epochs <= epoch), default=None)
