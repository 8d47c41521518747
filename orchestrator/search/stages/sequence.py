"""Phases of a sweep, one after the other, as one search; the ledger that they share."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Protocol

from orchestrator.search.base import WAIT, Pause, Proposal, Search, SearchProblem
from orchestrator.search.candidates import Key, key_of
from orchestrator.trial import Report, Stage, Trial, TrialResult, TrialState


@dataclass(kw_only=True)
class Ledger:
    """Knowledge that all phases share.

    Attributes:
        problem: The search problem.
        results: Trials with their results, in the order in which they ended.
        num_out: Trials asked for that have not ended.
        num_asked: Number of training runs that each config was asked for, isolated or not.
        isolated: True where every trial is to run isolated from now on.
        notes: Notes for the user that were not handed out yet.
    """

    problem: SearchProblem
    results: list[tuple[Trial, TrialResult]] = field(default_factory=list)
    num_out: int = 0
    num_asked: Counter[Key] = field(default_factory=Counter)
    isolated: bool = False
    notes: list[str] = field(default_factory=list)


class Phase(Protocol):
    """A part of a sweep."""

    def ask(self, ledger: Ledger) -> Proposal | Pause | None:
        """Return the phase's next trial; ``WAIT`` until more have ended; None at its end."""

    def tell(self, trial: Trial, result: TrialResult) -> None:
        """Take the result of a trial that the phase asked for."""

    def should_stop(self, trial: Trial, report: Report) -> bool:
        """Return True if a running trial that the phase asked for is to stop."""


class Stages:
    """Phases as one search. The next begins once one has no more to ask for."""

    def __init__(self, problem: SearchProblem, phases: Sequence[Phase]) -> None:
        self._ledger = Ledger(problem=problem)
        self._phases = list(phases)
        self._owners: dict[tuple[Any, ...], Phase] = {}

    def ask(self) -> Proposal | Pause | None:
        """Return the next trial of the current phase."""
        if self._ledger.isolated and self._ledger.num_out:
            return WAIT
        while self._phases:
            proposal = self._phases[0].ask(self._ledger)
            if isinstance(proposal, Proposal):
                return self._registered(proposal)
            if proposal is WAIT:
                return WAIT
            self._phases.pop(0)
        return None

    def tell(self, trial: Trial, result: TrialResult) -> None:
        """Hand the result of a trial to the phase that asked for it."""
        self._ledger.num_out -= 1
        self._ledger.results.append((trial, result))
        self._owners[self._key(trial)].tell(trial, result)

    def should_stop(self, trial: Trial, report: Report) -> bool:
        """Return the verdict of the phase that asked for the trial."""
        return self._owners[self._key(trial)].should_stop(trial, report)

    def notes(self) -> list[str]:
        """Return the notes for the user that were not handed out yet."""
        notes, self._ledger.notes = self._ledger.notes, []
        return notes

    def _registered(self, proposal: Proposal) -> Proposal:
        if self._ledger.isolated:
            proposal = replace(proposal, isolated=True)
        self._ledger.num_out += 1
        if proposal.stage is Stage.TRAIN:
            key = key_of(self._ledger.problem, proposal.config)
            self._ledger.num_asked[key] = max(self._ledger.num_asked[key], proposal.repeat + 1)
        self._owners[self._key(proposal)] = self._phases[0]
        return proposal

    def _key(self, asked: Trial | Proposal) -> tuple[Any, ...]:
        config = key_of(self._ledger.problem, asked.config)
        return config, asked.stage, asked.repeat, asked.isolated


class FullBudget:
    """A phase whose trials are never stopped, and that learns from the ledger alone."""

    def tell(self, trial: Trial, result: TrialResult) -> None:
        """Do nothing: the ledger has the result."""

    def should_stop(self, trial: Trial, report: Report) -> bool:
        """Return False."""
        return False


class Searching:
    """The search itself, or the first trials of it.

    Args:
        search: The search.
        num_trials: Trials that can run here and are trained, after which the next phase begins;
            None for all.
    """

    def __init__(self, search: Search, num_trials: int | None = None) -> None:
        self._search = search
        self._left = num_trials

    def ask(self, ledger: Ledger) -> Proposal | Pause | None:
        """Return the search's next trial."""
        if self._left == 0:
            # One that is out may prove infeasible yet, and give its place to another.
            return WAIT if ledger.num_out else None
        proposal = self._search.ask()
        if self._left is not None and isinstance(proposal, Proposal):
            self._left -= proposal.stage is Stage.TRAIN
        return proposal

    def tell(self, trial: Trial, result: TrialResult) -> None:
        """Tell the search."""
        if self._left is not None and result.state is TrialState.INFEASIBLE:
            self._left += trial.stage is Stage.TRAIN
        self._search.tell(trial, result)

    def should_stop(self, trial: Trial, report: Report) -> bool:
        """Return the search's verdict."""
        return self._search.should_stop(trial, report)
