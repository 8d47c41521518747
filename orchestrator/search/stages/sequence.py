"""Phases of a sweep, one after the other, as one search; the ledger that they share."""

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from orchestrator.kernel.problem import Key, SearchProblem, key_of
from orchestrator.kernel.search import WAIT, MayStart, Pause, PlannedStage, Proposal, Search
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
        may_start: Returns True if there is room for whole trainings of these configs.
    """

    problem: SearchProblem
    results: list[tuple[Trial, TrialResult]] = field(default_factory=list)
    num_out: int = 0
    num_asked: Counter[Key] = field(default_factory=Counter)
    isolated: bool = False
    notes: list[str] = field(default_factory=list)
    may_start: MayStart = lambda configs, kept_back: True

    def wait(self) -> Iterator[Pause]:
        """Yield ``WAIT`` until all trials have ended."""
        while self.num_out:
            yield WAIT

    def run(
        self,
        config: Mapping[str, Any],
        stage: Stage,
        repeat: int,
        **others: Any,  # noqa: ANN401
    ) -> Proposal:
        """Return a run of a config, a whole and isolated one unless ``others`` differ."""
        others = {"budget": self.problem.budget, "isolated": True, **others}
        return Proposal(config=config, stage=stage, repeat=repeat, **others)


def at_most(num_configs: int | None, number: int) -> int:
    """Return ``number``, or the number of configs where these are known to be fewer."""
    return number if num_configs is None else min(number, max(1, num_configs))


class Phase(Search):
    """A part of a sweep: a search that also sees the results of the other phases.

    Most phases are a generator, :meth:`trials`. Waits are not in a journal: a generator changes
    nothing on the way to a ``WAIT``. When a phase continues, what it did stays done.

    Attributes:
        ledger: All results; set by :class:`Stages`.
        after_early_end: True if it is asked also once the search has ended early.
        ends_search: True for a search that is asked to its end.
    """

    ledger: Ledger
    after_early_end: bool = False
    ends_search: bool = False
    _flow: Iterator[Proposal | Pause | None] | None = None

    def planned(self, num_configs: int | None) -> Sequence[PlannedStage]:
        """Return the trials that the phase adds to those of the search, as known beforehand.

        Args:
            num_configs: Configs that are trained at most, or None.
        """
        return ()

    def ask(self) -> Proposal | Pause | None:
        """Return the phase's next trial; ``WAIT`` until more have ended; None at its end."""
        self._flow = self._flow or self.trials(self.ledger)
        return next(self._flow, None)

    def trials(self, ledger: Ledger) -> Iterator[Proposal | Pause | None]:
        """Yield the answers of :meth:`ask`; after None it is asked again where it begins again."""
        raise NotImplementedError


class Stages(Search):
    """Phases as one search. The next begins once one has no more to ask for.

    The search may end early: only some phases are asked from there on.
    """

    def __init__(self, problem: SearchProblem, phases: Sequence[Phase]) -> None:
        self._ledger = Ledger(problem=problem)
        self.extends = any(phase.extends for phase in phases)
        self._phases = list(phases)
        for phase in phases:
            phase.ledger = self._ledger
        self._current = 0
        self._ended_at: int | None = None
        self._skipped: set[tuple[Any, ...]] = set()
        self._owners: dict[tuple[Any, ...], Phase] = {}

    def ask(self) -> Proposal | Pause | None:
        """Return the next trial of the current phase."""
        if self._ledger.isolated and self._ledger.num_out:
            return WAIT
        while self._current < len(self._phases):
            phase = self._phases[self._current]
            if self._ended_at is None or phase.after_early_end:
                proposal = phase.ask()
                if isinstance(proposal, Proposal):
                    return self._registered(proposal)
                # Trials that an early end left unrun have no result to wait for.
                if proposal is WAIT and (self._ended_at is None or self._ledger.num_out):
                    return WAIT
            self._current += 1
        return None

    def tell(self, trial: Trial, result: TrialResult) -> None:
        """Hand the result of a trial to the phase that asked for it."""
        self._ledger.num_out -= 1
        self._ledger.results.append((trial, result))
        self._owners[self._key(trial)].tell(trial, result)

    def revise(self, trial_id: str, result: TrialResult) -> None:
        """Replace a result in the ledger."""
        self._ledger.results[:] = [
            (trial, result if trial.id == trial_id else before)
            for trial, before in self._ledger.results
        ]

    def should_stop(self, trial: Trial, report: Report) -> bool:
        """Return the verdict of the phase that asked for the trial."""
        return self._owners[self._key(trial)].should_stop(trial, report)

    def limit(self, may_start: MayStart) -> None:
        """Take the function to call before runs that may be left out."""
        self._ledger.may_start = may_start

    def end_early(self) -> None:
        """Ask from here on only the phases that are asked after an early end."""
        if self._ended_at is None:
            self._ended_at = self._current
            for phase in self._phases[self._current : self._current + 1]:
                phase.end_early()

    def skip(self, trial: Trial) -> None:
        """Wait no longer for a trial: it is not run in this process."""
        self._skipped.add(self._key(trial))
        self._ledger.num_out -= 1

    def begin(self) -> None:
        """Wait again for what was skipped: a new process runs it."""
        self._ledger.num_out += len(self._skipped)
        self._skipped.clear()

    def go_on(self, trials: int | None) -> None:
        """Go back to where the search ended, and on from there."""
        ends = [phase.ends_search for phase in self._phases]
        back = ends.index(True) if self._ended_at is None else self._ended_at
        self._current, self._ended_at = min(self._current, back), None
        for phase in self._phases[self._current :]:
            phase.go_on(trials)

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
        self._owners[self._key(proposal)] = self._phases[self._current]
        return proposal

    def _key(self, asked: Trial | Proposal) -> tuple[Any, ...]:
        config = key_of(self._ledger.problem, asked.config)
        return config, asked.stage, asked.repeat, asked.isolated, asked.budget


class Searching(Phase):
    """The search itself, or the first trials of it.

    Args:
        search: The search.
        num_trials: Trials that can run here and are trained, after which the next phase begins;
            None for all.
        enumerates: True where its configs do not depend on results. Those that an early
            end leaves out are then asked for all the same, so that each has a row.
        ending: Ends trials early, or None.
    """

    def __init__(
        self,
        search: Search,
        num_trials: int | None = None,
        *,
        enumerates: bool = False,
        ending: Search | None = None,
    ) -> None:
        self._search = search
        self._left = num_trials
        self._ending = ending
        self.after_early_end, self.extends = enumerates, search.extends
        self.ends_search = num_trials is None

    def go_on(self, trials: int | None) -> None:
        """Extend the search to ``trials`` configs."""
        if trials is not None and self.ends_search and self.extends:
            self._search.extend(trials)

    def ask(self) -> Proposal | Pause | None:
        """Return the search's next trial."""
        if self._left == 0:
            # One that is out may prove infeasible yet, and give its place to another.
            return WAIT if self.ledger.num_out else None
        proposal = self._search.ask()
        self.ledger.notes += self._search.notes()
        if self._left is not None and isinstance(proposal, Proposal):
            self._left -= proposal.stage is Stage.TRAIN
        return proposal

    def tell(self, trial: Trial, result: TrialResult) -> None:
        """Tell the search."""
        if self._left is not None and result.state is TrialState.INFEASIBLE:
            self._left += trial.stage is Stage.TRAIN
        self._search.tell(trial, result)

    def end_early(self) -> None:
        """Take the search's notes on what is left out."""
        self._search.end_early()
        self.ledger.notes += self._search.notes()

    def should_stop(self, trial: Trial, report: Report) -> bool:
        """Return True where the search stops the trial, or a rung ends it."""
        by_search = self._search.should_stop(trial, report)
        return (self._ending is not None and self._ending.should_stop(trial, report)) or by_search
