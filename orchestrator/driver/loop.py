"""The one control loop: between a search that asks and an executor that runs.

    search.ask() -> executor runs the trial -> journal -> search.tell(), trackers

The loop writes each event to the journal first, then passes it on. A search is deterministic:
an interrupted sweep is resumed by repeating the journal's questions and answers to a fresh search.
"""

from __future__ import annotations

import time
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Final, cast

from orchestrator.derived import DerivedFigures
from orchestrator.driver.budgets.limits import Limits
from orchestrator.driver.budgets.spending import Spending, time_alone
from orchestrator.driver.outputs import Outputs
from orchestrator.driver.resume import require_asked
from orchestrator.driver.room import Room
from orchestrator.driver.trials import TrialFactory, failed_without_figures, with_idle_knobs
from orchestrator.errors import RunDirectoryError, SweepError, SweepFileError
from orchestrator.execution.base import Launch
from orchestrator.search.base import Pause, Proposal, Search
from orchestrator.storage.events import (
    DAMAGED,
    Asked,
    BlockRow,
    Ended,
    Event,
    Finished,
    Merged,
    Noted,
    Opened,
    Reported,
    Resumed,
    Started,
    Timed,
    Waiting,
)
from orchestrator.storage.files import RunFile
from orchestrator.storage.journal import Journal
from orchestrator.storage.sweep_record import SweepRecord
from orchestrator.texts import bounded_name
from orchestrator.tracking.base import Tracker
from orchestrator.trial import Report, Trial, TrialResult, TrialState

TICK_S: Final = 0.4
"""Least time between two ticks of the trackers: the console draws on each, on a trial's cores."""


class ControlLoop:
    """Asks the search, hands trials to the executor, and journals what becomes of them.

    The executor drives: it calls :meth:`next_launch` when it has room, then reports each trial's
    start, its reports and its end (:class:`~orchestrator.execution.base.Conductor`).
    """

    def __init__(
        self,
        factory: TrialFactory,
        search: Search,
        journal: Journal,
        trackers: Sequence[Tracker] = (),
        spending: Spending | None = None,
        derived: DerivedFigures | None = None,
        room: Room | None = None,
    ) -> None:
        self._factory = factory
        self._derived = derived or DerivedFigures()
        self._config = factory.sweep.trainable.config
        self._room = room
        target = [] if self._derived.target is None else [self._derived.target]
        self._names = [objective.metric for objective in (*factory.sweep.objectives, *target)]
        self._search = search
        self._journal = journal
        self._steps = Journal(journal.path.parent / RunFile.STEPS, now=journal.now)
        self._outputs = Outputs(journal.path.parent, factory.scratch)
        self._trackers = trackers
        spending = spending or time_alone(
            factory.time_budget_s, factory.num_cores, factory.sweep.budget, journal.now
        )
        self._limits = Limits(spending, search, self._record, journal.now)
        self._noted: set[str] = set()
        self._ticked_at = float("-inf")
        self._results: dict[str, TrialResult] = {}
        self._running: dict[str, Trial] = {}
        self._to_run: list[Trial] = []
        self._merged: dict[str, list[Trial]] = defaultdict(list)
        self.interrupted = False

    @property
    def results(self) -> Mapping[str, TrialResult]:
        """Return the results so far, by the trial's id."""
        return self._results

    def open(
        self,
        sweep: SweepRecord,
        *,
        past: Sequence[Event] = (),
        notes: Sequence[str] = (),
        trials: int | None = None,
    ) -> None:
        """Journal what is about to run.

        Args:
            sweep: The sweep.
            past: Events of earlier processes, which were replayed before.
            notes: Notes for the user.
            trials: Configs that the search is extended to, or None.
        """
        if past:
            for tracker in self._trackers:
                tracker.resume(past)
        self._record((Resumed if past else Opened)(sweep=sweep.to_json()))
        if past:
            self._limits.resumed()
        for note in notes:
            self._record(Noted(text=note))
        if trials is not None or self._limits.has_more:
            self._limits.go_on(trials)

    @property
    def limits(self) -> Limits:
        """Return what the budgets have cut short."""
        return self._limits

    def interrupt(self) -> None:
        """Start no further trial."""
        self.interrupted = True

    def close(self, exit_code: int) -> None:
        """Journal how the sweep ended, and close the journal."""
        try:
            self._record(Ended(exit_code=exit_code))
        finally:
            self.abandon()

    def abandon(self) -> None:
        """Close the journal without another event: of a run that could not be replayed."""
        try:
            self._journal.close()
        finally:
            self._steps.close()

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
            trials = [trial, *self._interleaved_with(trial)]
            to_run = [each for each in trials if not self._ends_unrun(each)]
            if to_run:
                return self._launch(to_run)
        return None

    def started(self, trial: Trial, *, node: str, cores: int, restored_epochs: int = 0) -> None:
        """Journal the start of a trial's process, or of another from a checkpoint."""
        self._record(
            Started(trial_id=trial.id, node=node, cores=cores, restored_epochs=restored_epochs)
        )
        self._steps.append(Started(trial_id=trial.id))

    def reported(self, trial: Trial, report: Report) -> bool:
        """Journal a trial's report; return True if the trial is to stop."""
        self._store_blocks(trial, report.blocks)
        self._record(Reported(trial_id=trial.id, report=report))
        self._derived.reported(trial, report)
        return self._search.should_stop(trial, report)

    def finished(self, trial: Trial, result: TrialResult) -> None:
        """Journal the end of a trial, in whatever way, and tell the search.

        A failure for want of room is none of the trial's: the run ends, and resuming runs it again.
        """
        if self._room is not None and result.state is TrialState.FAILED:
            self._room.require(now=True)
        self._running.pop(trial.id, None)
        self._store_blocks(trial, result.blocks)
        result = with_idle_knobs(self._derived.completed(trial, result), trial, self._config)
        result = failed_without_figures(result, trial, self._names)
        self._record(Finished(trial_id=trial.id, result=result))
        if note := self._outputs.keep(trial, result):
            self.note(note)
        self._tell(trial, replace(result, blocks=(), output=""))

    def waiting(self, trial: Trial, seconds: float, what: str) -> None:
        """Journal that a trial has been waiting to start for ``seconds``, for ``what``."""
        self._record(Waiting(trial_id=trial.id, seconds=round(seconds, 1), what=what))

    def note(self, text: str) -> None:
        """Journal a note for the user on how trials run; the same text counts once."""
        if text not in self._noted:
            self._noted.add(text)
            self._record(Noted(text=text))

    def tick(self) -> None:
        """Let the trackers do what they do now and then; an executor may come round more often."""
        if (at := time.monotonic()) < self._ticked_at + TICK_S and not self.interrupted:
            return
        self._ticked_at = at
        for tracker in self._trackers:
            tracker.tick()

    # -- from the search to a launch

    def _next_trial(self) -> Trial | Pause | None:
        """Return the next trial that is not known yet: left over, or asked for by the search."""
        if self._to_run:
            return self._to_run.pop(0)
        while True:
            proposal = self._search.ask()
            for note in self._search.notes():
                self._record(Noted(text=note))
            if not isinstance(proposal, Proposal):
                return proposal
            trial = self._factory.trial(proposal)
            if trial.id not in self._results and trial.id not in self._running:
                self._record(Asked(trial=trial))
                return trial
            self._record(Merged(trial=trial))
            self._answer_again(trial)

    def _interleaved_with(self, trial: Trial) -> list[Trial]:
        """Return the trials that the search wants interleaved with ``trial``: of its round alone.

        A search waits after a round, but several that a budget left unrun may be left over.
        """
        others: list[Trial] = []
        while trial.interleaved:
            following = self._next_trial()
            if not isinstance(following, Trial):
                break
            if not following.interleaved or following.repeat != trial.repeat:
                self._to_run.insert(0, following)
                break
            others.append(following)
        return others

    def _ends_unrun(self, trial: Trial) -> bool:
        """Return True if the trial cannot run, or no longer; it then has its row."""
        try:
            reason, state = self._factory.infeasible(trial), TrialState.INFEASIBLE
        except SweepFileError as error:  # the trainable's own code, for this config alone
            reason, state = str(error), TrialState.FAILED
        if reason:
            self.finished(trial, TrialResult(state=state, reason=reason))
            return True
        if not_run := self._limits.not_run(trial):
            self.finished(trial, not_run)
            return True
        return False

    def _launch(self, trials: Sequence[Trial]) -> Launch:
        """Return one launch of them all, interleaved where there are several.

        Interleaved ones that other load contaminated are not run again: alone, they would be
        compared with what did not meet the same host.
        """
        if self._room is not None:
            self._room.require()
        self._running |= {trial.id: trial for trial in trials}
        self._limits.launched(trials)
        first, *others = (
            replace(
                self._factory.launch(trial),
                time_budget=self._limits.time_budget,
                interleaved=len(trials) > 1,
                rerun_contaminated=len(trials) == 1,
            )
            for trial in trials
        )
        return replace(first, others=tuple(others))

    # -- from a result to the search

    def _tell(self, trial: Trial, result: TrialResult) -> None:
        self._results[trial.id] = result
        if result.state is TrialState.NOT_RUN:
            self._limits.skipped(trial)
            return  # a resumed sweep runs it, and tells the search then
        for asked in (trial, *self._merged.pop(trial.id, [])):
            self._search.tell(asked, result)

    def _answer_again(self, trial: Trial) -> None:
        """Tell the search the result of a trial that it asked for before, once there is one."""
        result = self._results.get(trial.id)
        if result is None or result.state is TrialState.NOT_RUN:
            self._merged[trial.id].append(trial)
        else:
            self._search.tell(trial, result)

    # -- the journal

    def _record(self, event: Event) -> None:
        line = self._journal.append(event)
        self._limits.apply(line)
        for tracker in self._trackers:
            tracker.on_event(line)

    def _store_blocks(self, trial: Trial, blocks: Sequence[Sequence[float]]) -> None:
        if blocks:
            self._steps.append(Timed(trial_id=trial.id, blocks=cast("Sequence[BlockRow]", blocks)))

    # -- resuming

    def replay(self, events: Iterable[Event]) -> None:
        """Repeat a journal to the search; trials without a result run again. Writes nothing.

        Raises:
            RunDirectoryError: The search asks for something else than it did.
        """
        asked: dict[str, Trial] = {}
        for number, event in enumerate(events, start=1):
            try:
                self._limits.replay(event)
                self._replay_event(event, asked)
            except DAMAGED as error:
                if isinstance(error, SweepError):
                    raise
                raise RunDirectoryError(
                    f"{self._journal.path}:{number} is damaged: it does not fit what comes before "
                    f"it: {type(error).__name__}: {bounded_name(str(error))}",
                    "restore the line, or start a new run",
                ) from error
        self._limits.replayed()
        self._search.notes()  # they are in the journal
        have_run = {
            key for key, each in self._results.items() if each.state is not TrialState.NOT_RUN
        }
        self._to_run = [trial for trial in asked.values() if trial.id not in have_run]
        for trial in self._to_run:
            self._results.pop(trial.id, None)

    def _replay_event(self, event: Event, asked: dict[str, Trial]) -> None:
        if isinstance(event, Asked | Merged):
            trial = event.trial
            require_asked(self._search, trial, self._journal.path)
            if isinstance(event, Asked):
                asked[trial.id] = trial
            else:
                self._answer_again(trial)
        elif isinstance(event, Reported):
            trial = asked[event.trial_id]
            self._derived.reported(trial, event.report)
            self._search.should_stop(trial, event.report)
        elif isinstance(event, Finished):
            self._tell(asked[event.trial_id], event.result)
