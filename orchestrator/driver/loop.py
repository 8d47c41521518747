"""The one control loop: between a search that asks and an executor that runs.

    search.ask() -> executor runs the trial -> journal -> search.tell(), trackers

Every fact is journalled before anything else hears of it. A search is deterministic, so
an interrupted sweep is resumed by repeating to a fresh search what the journal says it
was asked and told.
"""

from __future__ import annotations

import time
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Any

from orchestrator.driver.trials import TrialFactory
from orchestrator.errors import RunDirectoryError, SweepFileError
from orchestrator.execution.base import Launch, TimeBudget
from orchestrator.search.base import Pause, Proposal, Search, Speaks
from orchestrator.storage.files import RunFile
from orchestrator.storage.journal import Event, Journal
from orchestrator.tracking.base import Tracker
from orchestrator.trial import Report, Trial, TrialResult, TrialState


class ControlLoop:
    """Drives a search and keeps its books; an executor drives the runner."""

    def __init__(
        self,
        setting: TrialFactory,
        search: Search,
        journal: Journal,
        trackers: Sequence[Tracker] = (),
    ) -> None:
        self._setting = setting
        self._search = search
        self._journal = journal
        self._steps = Journal(journal.path.parent / RunFile.STEPS)
        self._trackers = trackers
        self._time_budget = _time_budget(setting.time_budget_s)
        self._noted: set[str] = set()
        self._results: dict[str, TrialResult] = {}
        self._running: dict[str, Trial] = {}
        self._to_run: list[Trial] = []
        self._same_as: dict[str, list[Trial]] = defaultdict(list)
        self.interrupted = False

    @property
    def results(self) -> Mapping[str, TrialResult]:
        """What became of each trial so far, by id."""
        return self._results

    def open(
        self, sweep: Mapping[str, Any], *, past: Sequence[Event] = (), notes: Sequence[str] = ()
    ) -> None:
        """Journals what is about to run, behind ``past``, which was replayed before."""
        if past:
            for tracker in self._trackers:
                tracker.resume(past)
        self._record("resumed" if past else "sweep", sweep=sweep)
        for note in notes:
            self._record("note", text=note)

    def close(self, exit_code: int) -> None:
        """Journals how it ended, and closes the journal."""
        self._record("ended", exit_code=exit_code)
        self._journal.close()
        self._steps.close()

    # -- what an executor calls

    def next_launch(self) -> Launch | Pause | None:
        """The next trial to run; ``WAIT`` until another has finished; None at the end."""
        while not self.interrupted:
            trial = self._next_trial()
            if not isinstance(trial, Trial):
                stuck = trial is not None and not self._running
                return None if stuck else trial  # it waits for trials that are not run
            asked = [trial, *self._interleaved_with(trial)]
            launches = [self._launch(each) for each in asked if not self._settled(each)]
            if launches:
                return _together(launches)
        return None

    def started(self, trial: Trial, *, node: str, cores: int, restored_epochs: int = 0) -> None:
        """A trial's process has been started, or another that went on from a checkpoint."""
        kept = {"restored_epochs": restored_epochs} if restored_epochs else {}
        self._record("started", trial_id=trial.id, node=node, cores=cores, **kept)
        self._steps.append("started", trial_id=trial.id)

    def reported(self, trial: Trial, report: Report) -> bool:
        """A trial has reported; returns whether it is to stop."""
        self._keep_blocks(trial, report.blocks)
        self._record("report", trial_id=trial.id, report=_without_blocks(report.to_json()))
        return self._search.should_stop(trial, report)

    def finished(self, trial: Trial, result: TrialResult) -> None:
        """A trial has ended, in whatever way."""
        self._running.pop(trial.id, None)
        self._keep_blocks(trial, result.blocks)
        self._record("finished", trial_id=trial.id, result=_without_blocks(result.to_json()))
        self._tell(trial, replace(result, blocks=()))

    def waiting(self, trial: Trial, seconds: float, what: str) -> None:
        """A trial has been waiting to start for ``seconds``, for ``what``."""
        self._record("waiting", trial_id=trial.id, seconds=round(seconds, 1), what=what)

    def note(self, text: str) -> None:
        """Something that the user should know of how trials run; the same text counts once."""
        if text not in self._noted:
            self._noted.add(text)
            self._record("note", text=text)

    def tick(self) -> None:
        """Lets the trackers do what they do now and then."""
        for tracker in self._trackers:
            tracker.tick()

    # -- the loop's own

    def _launch(self, trial: Trial) -> Launch:
        self._running[trial.id] = trial
        return replace(self._setting.launch(trial), time_budget=self._time_budget)

    def _interleaved_with(self, trial: Trial) -> list[Trial]:
        """What else is asked for to be run in turns with ``trial``; what comes after it waits."""
        found: list[Trial] = []
        while trial.interleaved:
            following = self._next_trial()
            if not isinstance(following, Trial):
                break
            if not following.interleaved:
                self._to_run.insert(0, following)
                break
            found.append(following)
        return found

    def _next_trial(self) -> Trial | Pause | None:
        if self._to_run:
            return self._to_run.pop(0)
        while True:
            proposal = self._search.ask()
            for note in self._notes():
                self._record("note", text=note)
            if not isinstance(proposal, Proposal):
                return proposal
            trial = self._setting.trial(proposal)
            if not self._is_known(trial):
                self._record("asked", trial=trial.to_json())
                return trial
            self._record("merged", trial=trial.to_json())
            self._answer_again(trial)

    def _notes(self) -> list[str]:
        return self._search.notes() if isinstance(self._search, Speaks) else []

    def _is_known(self, trial: Trial) -> bool:
        return trial.id in self._results or trial.id in self._running

    def _answer_again(self, trial: Trial) -> None:
        """Tells the search the result of a trial that it asked for before."""
        result = self._results.get(trial.id)
        if result is None or result.state is TrialState.NOT_RUN:
            self._same_as[trial.id].append(trial)
        else:
            self._search.tell(trial, result)

    def _settled(self, trial: Trial) -> bool:
        """Whether the trial has its row without being run."""
        try:
            reason, state = self._setting.infeasible(trial), TrialState.INFEASIBLE
        except SweepFileError as error:  # the trainable's own code, for this config alone
            reason, state = str(error), TrialState.FAILED
        if reason:
            self.finished(trial, TrialResult(state=state, reason=reason))
            return True
        if self._time_budget is not None and (too_late := self._time_budget.not_run()):
            self.finished(trial, too_late)
            return True
        return False

    def _tell(self, trial: Trial, result: TrialResult) -> None:
        self._results[trial.id] = result
        if result.state is TrialState.NOT_RUN:
            return  # on resume it runs, and is told then
        for asked in (trial, *self._same_as.pop(trial.id, [])):
            self._search.tell(asked, result)

    def _record(self, event: str, **content: Any) -> None:  # noqa: ANN401 - plain JSON values
        line = self._journal.append(event, **content)
        for tracker in self._trackers:
            tracker.on_event(line)

    def _keep_blocks(self, trial: Trial, blocks: Sequence[Sequence[float]]) -> None:
        if blocks:
            self._steps.append("blocks", trial_id=trial.id, blocks=blocks)

    # -- resuming

    def replay(self, events: Iterable[Event]) -> None:
        """Repeats a journal to the search; what is missing runs again. Writes nothing.

        Raises:
            RunDirectoryError: The search asks for something else than it did.
        """
        asked: dict[str, Trial] = {}
        for event in events:
            self._replay_one(event, asked)
        self._notes()  # they are in the journal
        done = {id_ for id_, r in self._results.items() if r.state is not TrialState.NOT_RUN}
        self._to_run = [trial for trial in asked.values() if trial.id not in done]
        for trial in self._to_run:
            self._results.pop(trial.id, None)

    def _replay_one(self, event: Event, asked: dict[str, Trial]) -> None:
        kind = event["event"]
        if kind in ("asked", "merged"):
            trial = Trial.from_json(event["trial"])
            self._expect(trial)
            if kind == "asked":
                asked[trial.id] = trial
            else:
                self._answer_again(trial)
        elif kind == "report":
            self._search.should_stop(asked[event["trial_id"]], Report.from_json(event["report"]))
        elif kind == "finished":
            self._tell(asked[event["trial_id"]], TrialResult.from_json(event["result"]))

    def _expect(self, trial: Trial) -> None:
        proposal = self._search.ask()
        same = isinstance(proposal, Proposal) and (
            dict(proposal.config) == dict(trial.config)
            and (proposal.stage, proposal.repeat) == (trial.stage, trial.repeat)
            and (proposal.isolated, proposal.interleaved) == (trial.isolated, trial.interleaved)
        )
        if not same:
            raise RunDirectoryError(
                f"{self._journal.path}: the search no longer asks for what it asked for "
                f"(trial {trial.id})",
                "its code or a library's version has changed; start a new run",
            )


def _together(launches: Sequence[Launch]) -> Launch:
    """Return one launch of them all, interleaved where there are several."""
    if len(launches) == 1:
        return launches[0]
    first, *others = (replace(launch, interleaved=True) for launch in launches)
    return replace(first, others=tuple(others))


def _without_blocks(facts: dict[str, Any]) -> dict[str, Any]:
    """A report or a result as the journal holds it."""
    return {name: value for name, value in facts.items() if name != "blocks"}


def _time_budget(seconds: float | None) -> TimeBudget | None:
    return None if seconds is None else TimeBudget(seconds=seconds, ends_at=time.time() + seconds)
