"""The one control loop: between a search that asks and an executor that runs.

    search.ask() -> executor runs the trial -> journal -> search.tell(), folds

The loop writes each event to the journal first, then passes it on. A search is deterministic:
an interrupted sweep is resumed by repeating the journal's questions and answers to a fresh search.
The loop has no feature. Its :class:`Trials` determine what a sweep's trials are, which of them may
not run, and what becomes of a result. Budgets are a :class:`Gate`. Everything else reads the
events, as a :class:`Fold`.
"""

import time
from collections import Counter, defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, Final

from orchestrator.errors import RunDirectoryError
from orchestrator.kernel import events
from orchestrator.kernel.events import Event
from orchestrator.kernel.executor import Launch
from orchestrator.kernel.journal import THINNED, Journal, Thinner
from orchestrator.kernel.parts import Fold, Gate, Trials
from orchestrator.kernel.search import Pause, Proposal, Search
from orchestrator.trial import Report, Trial, TrialResult, TrialState

MOST_DEATHS: Final = 2
"""Deaths of the driver while a trial ran, after which it may be the cause, and runs no more."""

TICK_S: Final = 0.4
"""Least time between two ticks of the folds: the console draws on each, on a trial's cores."""


class ControlLoop:
    """Asks the search, hands trials to the executor, and journals what becomes of them.

    The executor drives: it calls :meth:`next_launch` when it has room, then reports each trial's
    start, its reports and its end (:class:`~orchestrator.kernel.executor.Conductor`).

    Args:
        trials: The sweep's trials.
        search: The search, with the stages around it.
        journal: The journal; the loop closes it.
        folds: Views of the run.
        gate: Lets trials start. Default: all of them.

    Attributes:
        results: The results so far, by the trial's id.
    """

    def __init__(
        self,
        trials: Trials,
        search: Search,
        journal: Journal,
        folds: Sequence[Fold] = (),
        gate: Gate | None = None,
    ) -> None:
        self._trials = trials
        self._search = search
        self._journal = journal
        self._folds = list(folds)
        self._gate = gate or Gate()
        self._gate.record, self._gate.search = self.record, search
        search.limit(self._gate.may_start)
        self._noted: set[str] = set()
        self._ticked_at = float("-inf")
        self.results: dict[str, TrialResult] = {}
        self._asked: dict[str, Trial] = {}
        self._running: dict[str, Trial] = {}
        self._deaths = Counter[str]()
        self._thinner = Thinner()
        self._to_run: list[Trial] = []
        self._merged: dict[str, list[Trial]] = defaultdict(list)
        self.interrupted = False

    def follow(self, fold: Fold) -> None:
        """Pass events on to another fold."""
        self._folds.append(fold)

    def open(
        self,
        sweep: Mapping[str, Any],
        *,
        past: Sequence[Event] = (),
        notes: Sequence[str] = (),
        trials: int | None = None,
    ) -> None:
        """Journal what is about to run.

        Args:
            sweep: The sweep as resolved, plain.
            past: Events of earlier processes, which were restored before.
            notes: Notes for the user.
            trials: Configs that the search is extended to, or None.
        """
        self.record(events.opening(sweep, past))
        for note in notes:
            self.record(events.Noted(text=note))
        if trials is not None or self._gate.has_more:
            self.record(events.Continued(trials=trials))

    def interrupt(self) -> None:
        """Start no further trial."""
        self.interrupted = True

    def close(self, exit_code: int) -> None:
        """Journal how the sweep ended, and close the journal."""
        try:
            self.record(events.Ended(exit_code=exit_code))
        finally:
            self._journal.close()

    def record(self, event: Event) -> bool:
        """Journal an event, pass it on, and obey it; see :meth:`_apply`."""
        event = self._journal.append(event)
        for fold in self._folds:
            fold.apply(event)
        return self._apply(event)

    def _apply(self, event: Event) -> bool:
        """Obey an event, of this process or of one before it; True stops a trial at its report."""
        self._gate.apply(event)
        if isinstance(event, events.Asked):
            self._asked[event.trial.id] = event.trial
        elif isinstance(event, events.Merged):
            self._answer_again(event.trial)
        elif isinstance(event, events.Reported):
            trial = self._asked[event.trial_id]
            self._trials.observe(trial, event.report)
            return self._search.should_stop(trial, event.report)
        elif isinstance(event, events.Finished):
            result = replace(event.result, blocks=(), output="")
            self._tell(self._asked[event.trial_id], result)
        elif isinstance(event, events.Continued):
            self._search.go_on(event.trials)
        elif isinstance(event, events.Opened):
            self._search.begin()
        elif isinstance(event, events.Judged):
            self.results[event.trial_id] = event.result
            self._search.revise(event.trial_id, event.result)
        return False

    # -- called by the executor

    def next_launch(self) -> Launch | Pause | None:
        """Return the next launch; ``WAIT`` until a trial has finished; None at the end."""
        while not self.interrupted:
            trial = self._next_trial()
            if trial is None:
                return None
            if isinstance(trial, Pause):
                # A search that waits for trials of which none runs would wait for ever.
                return trial if self._running else None
            trials = [trial, *self._started_with(trial)]
            to_run = [each for each in trials if not self._ends_unrun(each)]
            if to_run:
                launch = self._trials.launch(to_run, self._gate.launched(to_run))
                self._running |= {trial.id: trial for trial in to_run}
                return launch
        return None

    def started(self, start: events.Started) -> None:
        """Journal the start of a trial's process, or of another from a checkpoint."""
        self._thinner.restart(start.trial_id)
        self.record(start)

    def reported(self, trial: Trial, report: Report) -> bool:
        """Journal a trial's report; return True if the trial is to stop."""
        event = self._thinner.take(events.Reported(trial_id=trial.id, report=report))
        if event is None:
            self.note(THINNED)
            return False
        return self.record(event)

    def finished(self, trial: Trial, result: TrialResult) -> None:
        """Journal the end of a trial, in whatever way, and hand its result to the search."""
        result = self._trials.concluded(trial, result)
        self._running.pop(trial.id, None)
        self.record(events.Finished(trial_id=trial.id, result=result))
        for trial_id, judged in self._trials.found_infeasible(self.results).items():
            self.record(events.Judged(trial_id=trial_id, result=judged))
            self.note(f"trial {trial_id[:6]} is infeasible after all: {judged.reason}")

    def waiting(self, trial: Trial, seconds: float, what: str) -> None:
        """Journal that a trial has been waiting to start for ``seconds``, for ``what``."""
        self.record(events.Waiting(trial_id=trial.id, seconds=round(seconds, 1), what=what))

    def note(self, text: str) -> None:
        """Journal a note for the user on how trials run; the same text counts once."""
        if text not in self._noted:
            self._noted.add(text)
            self.record(events.Noted(text=text))

    def tick(self) -> None:
        """Sync ends of trials, and let the folds do their regular work, if it is time again."""
        self._journal.sync_ends()
        if (at := time.monotonic()) < self._ticked_at + TICK_S and not self.interrupted:
            return
        self._ticked_at = at
        for fold in self._folds:
            fold.tick()

    # -- from the search to a launch

    def _next_trial(self) -> Trial | Pause | None:
        """Return the next trial that is not known yet: left over, or asked for by the search."""
        if self._to_run:
            return self._to_run.pop(0)
        while True:
            proposal = self._search.ask()
            for note in self._search.notes():
                self.record(events.Noted(text=note))
            if not isinstance(proposal, Proposal):
                return proposal
            trial = self._trials.trial(proposal)
            if trial.id not in self.results and trial.id not in self._running:
                self.record(events.Asked(trial=trial))
                return trial
            self.record(events.Merged(trial=trial))

    def _started_with(self, trial: Trial) -> list[Trial]:
        """Return the trials that the search wants to share its cores, all of one round.

        A search waits after a round, but rounds that a budget left unrun may be left over.
        """
        others: list[Trial] = []
        while trial.shares_cores(trial) and isinstance(following := self._next_trial(), Trial):
            if not trial.shares_cores(following):
                self._to_run.insert(0, following)
                break
            others.append(following)
        return others

    def _ends_unrun(self, trial: Trial) -> bool:
        """Return True if the trial is known, cannot run, or may no longer; it then has its row."""
        if known := self._trials.known(trial):
            for event in known:
                self.record(event)
            return True
        result = self._trials.unable(trial) or self._gate.not_run(trial)
        if self._deaths[trial.id] >= MOST_DEATHS:
            reason = f"it was running when the driver died, {MOST_DEATHS} times: it is set aside"
            result = TrialResult(state=TrialState.FAILED, reason=reason)
        if result is not None:
            self.finished(trial, result)
        return result is not None

    # -- from a result to the search

    def _tell(self, trial: Trial, result: TrialResult) -> None:
        self.results[trial.id] = result
        if result.state is TrialState.NOT_RUN:
            self._search.skip(trial)
            return  # a resumed sweep runs it; the search receives that result
        for asked in (trial, *self._merged.pop(trial.id, [])):
            self._search.tell(asked, result)

    def _answer_again(self, trial: Trial) -> None:
        """Give the search the result of a trial that it asked for before, once there is one."""
        if self._has_run(trial):
            self._search.tell(trial, self.results[trial.id])
        else:
            self._merged[trial.id].append(trial)

    def _has_run(self, trial: Trial) -> bool:
        result = self.results.get(trial.id)
        return result is not None and result.state is not TrialState.NOT_RUN

    # -- resuming

    def restore(self, past: Sequence[Event]) -> None:
        """Repeat a journal to the search; trials without a result run again. Writes nothing.

        Raises:
            RunDirectoryError: The search asks for something else than it did.
        """
        self._gate.restoring = True
        for event in past:
            if isinstance(event, events.Asked | events.Merged):
                _require_asked(self._search, event.trial, self._journal.path)
            self._apply(event)
        self._deaths = events.deaths_of(past)
        self._gate.restoring = False
        self._search.notes()  # they are in the journal
        self._to_run = [trial for trial in self._asked.values() if not self._has_run(trial)]
        for trial in self._to_run:
            self.results.pop(trial.id, None)


def _require_asked(search: Search, trial: Trial, journal: Path) -> None:
    """Check that a search asks for the same trial as when the run was started.

    Raises:
        RunDirectoryError: It asks for something else.
    """
    if search.ask() != trial.proposal:
        raise RunDirectoryError(
            f"{journal}: the search no longer asks for what it asked for (trial {trial.id})",
            "its code or a library's version has changed; start a new run",
        )
