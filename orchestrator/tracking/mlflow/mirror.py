"""The mirror: writes to MLflow what the journal has and MLflow has not, in a safe order.

The order makes every moment safe to be killed in. A child is created with its tags in one
step; its points come next; its status last. A later process looks up what is there by
tags, takes runs with a final status as whole and completes the others point by point.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from orchestrator.storage.events import Event, decode
from orchestrator.storage.files import RunFile
from orchestrator.storage.history import SweepHistory, TrialHistory
from orchestrator.tracking.mlflow.answer import RunAnswer
from orchestrator.tracking.mlflow.children import Child
from orchestrator.tracking.mlflow.content import (
    PARENT_TAG,
    PROCESS_TAG,
    ROLE_TAG,
    STATUS,
    SWEEP_TAG,
    Status,
    attempt,
    child_name,
    milliseconds,
    params,
    points,
    tags,
    user,
)
from orchestrator.tracking.mlflow.ending import Told, tell_answer, upload_front
from orchestrator.tracking.mlflow.parent import (
    NOTE_TAG,
    RUN_DIR_TAG,
    parent_status,
    parent_tags,
)
from orchestrator.tracking.mlflow.store import FoundRun, NewRun, Store, Target

_LEFT = (RunFile.JOURNAL, RunFile.STEPS, RunFile.MLFLOW, RunFile.OUTPUT)
ARTIFACTS = tuple(file for file in RunFile if file not in _LEFT)
"""Files of a run directory that the parent run gets, as far as they exist."""


class ArtifactsMissing(Exception):
    """MLflow has all of a run but its files, which its artifact store has not taken."""


class JournalTail:
    """A reader of what was appended to a journal since the last time, whole lines only."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._offset = 0

    def read(self) -> Iterator[Event]:
        """Yield the events that are new."""
        with self._path.open("rb") as file:
            file.seek(self._offset)
            for line in file:
                if not line.endswith(b"\n"):
                    return
                self._offset += len(line)
                if (event := decode(line)) is not None:
                    yield event


class Mirror:
    """One parent run and its children, brought to what a journal says."""

    def __init__(self, run_dir: Path, journal: Path, target: Target) -> None:
        self._run_dir = run_dir
        self._tail = JournalTail(journal)
        self._target = target
        self._history = SweepHistory()
        self._behind: set[str] = set()
        self._store: Store | None = None
        self._children: dict[str, Child] = {}
        self._had_errors = False
        self.parent_id = ""
        self.num_written = 0

    @property
    def experiment_id(self) -> str:
        """Return MLflow's id of the experiment; empty before the first success."""
        return "" if self._store is None else self._store.experiment_id

    def catch_up(self) -> None:
        """Write whatever the journal has and MLflow has not.

        Raises:
            Exception: Whatever MLflow raises. Call :meth:`forget`, then try again.
        """
        for event in self._tail.read():
            trial = self._history.apply(event)
            if trial is not None:
                self._behind.add(trial.trial.id)
        if not self._history.has_begun:
            return
        store = self._store or self._attach()
        for trial in [t for id_, t in self._history.trials.items() if id_ in self._behind]:
            if trial.begun:
                self._bring(store, trial)
            self._behind.discard(trial.trial.id)

    def forget(self) -> None:
        """Drop what is known of MLflow's side: after an error anything may be there."""
        self._store, self._had_errors = None, True
        self._behind = set(self._history.trials)

    def finish(self, exit_code: int | None) -> None:
        """Catch up, add the answer, end the parent run, then add the artifacts.

        The artifacts last: their store may be one that cannot be reached from here, or that takes
        longer than the driver waits. The parent run is not to look as if it ran, then.

        Args:
            exit_code: The driver's; None for what the journal says, or "killed".

        Raises:
            ArtifactsMissing: All is written but the artifacts.
        """
        if self._had_errors:
            self.forget()  # a request that timed out may have been served since
        self.catch_up()
        if self._store is None:
            return  # an empty journal
        for trial_id, child in self._children.items():
            if self._history.trials[trial_id].running:
                self._store.end(child.run_id, Status.KILLED, milliseconds(self._history.last_at))
        code = self._history.exit_code if exit_code is None else exit_code
        tell_answer(self._store, self._told(), is_whole=code == 0)
        status = parent_status(130 if code is None else code)
        self._store.end(self.parent_id, status, milliseconds(self._history.last_at))
        self._upload(self._store)

    def _upload(self, store: Store) -> None:
        try:
            for name in ARTIFACTS:
                if (self._run_dir / name).exists():
                    store.upload(self.parent_id, self._run_dir / name)
            upload_front(store, self._told())
        except Exception as error:
            text = f"all runs are there, the files are not: {type(error).__name__}: {error}"
            raise ArtifactsMissing(text) from error

    # -- one after the other

    def _attach(self) -> Store:
        """Connect, and find what is there."""
        store = Store(self._target, self._history.sweep.name)
        runs = self._own_runs(store)
        self._children.clear()
        self.parent_id = self._parent(store, [run for run in runs if not run.trial_id])
        for run in runs:
            if run.trial_id:
                self._adopt(store, run)
        self._store = store
        return store

    def _own_runs(self, store: Store) -> list[FoundRun]:
        """Return the runs that this journal is to be brought to; none where they are to be made.

        A copy of a run directory has the key of the run. The one that is gone on with first keeps
        the runs in MLflow; another gets runs of its own, under the key of its own process.
        """
        processes = self._history.processes
        for key in processes:
            runs = store.find(key)
            writers = {run.process for run in runs if not run.trial_id} - {"", *processes}
            if not writers and (runs or key == processes[0]):
                self._history.key = key
                return runs
        self._history.key = processes[-1]
        return []

    def _parent(self, store: Store, runs: list[FoundRun]) -> str:
        for extra in runs[1:]:
            store.delete(extra.run_id)
        is_composed = (self._run_dir / RunFile.CANDIDATES).exists()
        tags = parent_tags(self._history, str(self._run_dir), is_composed=is_composed)
        if runs:
            store.reopen(runs[0].run_id)
            # Until it has ended again an answer would be an earlier one.
            renewed = (NOTE_TAG, PROCESS_TAG, RUN_DIR_TAG)
            store.write(runs[0].run_id, tags={name: tags[name] for name in renewed})
            return runs[0].run_id
        began_ms = milliseconds(self._history.began_at)
        name = f"{self._history.sweep.name} {self._run_dir.name}"
        return store.create(NewRun(name=name, began_ms=began_ms, tags=tags))

    def _adopt(self, store: Store, run: FoundRun) -> None:
        """Take a run as the trial's child, unless it is of a void start or a second one."""
        trial = self._history.trials.get(run.trial_id)
        if trial is None or run.attempt != attempt(trial) or run.trial_id in self._children:
            store.delete(run.run_id)
            return
        present = set() if run.ended else store.history(run)
        self._children[run.trial_id] = Child(
            run_id=run.run_id,
            attempt=run.attempt,
            role=run.role,
            ended=run.ended,
            present=present,
        )

    def _told(self) -> Told:
        return Told(
            history=self._history,
            run_dir=self._run_dir,
            parent_id=self.parent_id,
            children=self._children,
        )

    def _bring(self, store: Store, trial: TrialHistory) -> None:
        child = self._child(store, trial)
        if child.ended:
            return
        result = trial.concluded
        new = [p for p in points(trial, child.num_reports) if p.place not in child.present]
        store.write(
            child.run_id,
            points=new,
            params=None if child.has_params else params(trial),
            tags=None if result is None else tags(trial),
        )
        child.num_reports, child.has_params = len(trial.reports), True
        self.num_written += 1
        if result is not None:
            store.end(child.run_id, STATUS[result.state], milliseconds(trial.finished_at))
            child.ended = True

    def _child(self, store: Store, trial: TrialHistory) -> Child:
        child = self._children.get(trial.trial.id)
        if child is not None and child.attempt == attempt(trial):
            return child
        if child is not None:  # started anew: MLflow cannot take points back
            store.delete(child.run_id)
        began = trial.started_at if trial.started_at is not None else trial.finished_at
        baseline = self._history.sweep.baseline
        places = {PARENT_TAG: self.parent_id, SWEEP_TAG: self._history.key}
        if role := RunAnswer().role(trial, baseline):  # the answer's roles are known at the end
            places[ROLE_TAG] = role
        new = NewRun(
            name=child_name(trial, baseline),
            began_ms=milliseconds(began),
            tags={**tags(trial), **places, "mlflow.user": user()},
        )
        made = Child(run_id=store.create(new), attempt=attempt(trial), role=role)
        self._children[trial.trial.id] = made
        return made
