"""The mirror: a fold of the journal that writes what MLflow lacks, in a safe order.

The order makes every moment safe to be killed in. A child is created with its tags in one
step; its points come next; its status last. A later process looks up what is there by
tags, takes runs with a final status as whole and completes the others point by point.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from mlflow.entities import Run

from orchestrator.kernel.events import Event, decode
from orchestrator.storage.files import RunFile
from orchestrator.storage.history import TrialHistory
from orchestrator.tracking.mlflow.answer import RunAnswer
from orchestrator.tracking.mlflow.content import (
    ATTEMPT_TAG,
    PARENT_TAG,
    PROCESS_TAG,
    ROLE_TAG,
    STATUS,
    SWEEP_TAG,
    TRIAL_TAG,
    Child,
    MirroredRun,
    Status,
    attempt,
    child_name,
    milliseconds,
    params,
    points,
    tags,
    user,
)
from orchestrator.tracking.mlflow.parent import (
    NOTE_TAG,
    RUN_DIR_TAG,
    parent_status,
    parent_tags,
    upload_front,
    write_answer,
)
from orchestrator.tracking.mlflow.store import Store, Target

_LEFT_OUT = (RunFile.JOURNAL, RunFile.STEPS, RunFile.MLFLOW, RunFile.OUTPUT)
ARTIFACTS = tuple(file for file in RunFile if file not in _LEFT_OUT)
"""Files of a run directory that the parent run gets, as far as they exist."""


class ArtifactsMissing(Exception):
    """MLflow has all of a run but its files, which its artifact store has not taken."""


class Mirror:
    """One parent run and its children, brought up to date with a journal."""

    def __init__(self, run_dir: Path, target: Target) -> None:
        """Connect to nothing yet.

        Args:
            run_dir: The run directory.
            target: Where MLflow is.
        """
        self._run = MirroredRun(run_dir=run_dir)
        self._offset = 0
        self._target = target
        self._behind: set[str] = set()
        self._store: Store | None = None
        self._had_errors = False
        self.num_written = 0

    @property
    def ids(self) -> tuple[str, str]:
        """Return MLflow's ids of experiment and parent run; empty before the first success."""
        return "" if self._store is None else self._store.experiment_id, self._run.parent_id

    def apply(self, event: Event) -> None:
        """Take in an event; nothing is written before :meth:`catch_up`."""
        trial = self._run.history.apply(event)
        if trial is not None:
            self._behind.add(trial.trial.id)

    def catch_up(self) -> None:
        """Write whatever the journal has and MLflow lacks.

        Raises:
            Exception: Whatever MLflow raises. Call :meth:`forget`, then try again.
        """
        for event in self._new_events():
            self.apply(event)
        if not self._run.history.has_begun:
            return
        store = self._store or self._attach()
        for trial in [t for id_, t in self._run.history.trials.items() if id_ in self._behind]:
            if trial.begun:
                self._bring(store, trial)
            self._behind.discard(trial.trial.id)

    def forget(self) -> None:
        """Drop what is known of MLflow's side: after an error anything may be there."""
        self._store, self._had_errors = None, True
        self._behind = set(self._run.history.trials)

    def finish(self, exit_code: int | None) -> None:
        """Catch up, add the answer, end the parent run, then add the artifacts.

        The artifacts last: their store may be out of reach from here, or take longer than the
        driver waits, and the parent run would look as if it still ran.

        Args:
            exit_code: The driver's; None for the journal's, or "killed".

        Raises:
            ArtifactsMissing: All is written but the artifacts.
        """
        if self._had_errors:
            self.forget()  # a request that timed out may have been served since
        self.catch_up()
        if self._store is None:
            return  # an empty journal
        history, store = self._run.history, self._store
        last_ms = milliseconds(history.last_at)
        for trial_id, child in self._run.children.items():
            if history.trials[trial_id].running:
                store.end(child.run_id, Status.KILLED, last_ms)
        code = history.exit_code if exit_code is None else exit_code
        write_answer(store, self._run, is_whole=code == 0)
        store.end(self._run.parent_id, parent_status(130 if code is None else code), last_ms)
        try:
            for path in map(self._run.run_dir.joinpath, ARTIFACTS):
                if path.exists():
                    store.upload(self._run.parent_id, path)
            upload_front(store, self._run)
        except Exception as error:
            text = f"all runs are there, the files are not: {type(error).__name__}: {error}"
            raise ArtifactsMissing(text) from error

    def _new_events(self) -> Iterator[Event]:
        """Yield what was appended to the journal since the last time, whole lines only."""
        with (self._run.run_dir / RunFile.JOURNAL).open("rb") as file:
            file.seek(self._offset)
            for line in file:
                if not line.endswith(b"\n"):
                    return
                self._offset += len(line)
                if (event := decode(line)) is not None:
                    yield event

    # -- one after the other

    def _attach(self) -> Store:
        """Connect, and find what is there."""
        store = Store(self._target, self._run.history.sweep.name)
        runs = self._own_runs(store)
        self._run.children.clear()
        self._run.parent_id = self._parent(store, [run for run in runs if _is_parent(run)])
        for run in runs:
            if not _is_parent(run):
                self._adopt(store, run)
        self._store = store
        return store

    def _own_runs(self, store: Store) -> list[Run]:
        """Return the runs that MLflow has of this journal; none where they are to be made.

        A copy of a run directory has the key of the run. The one that is resumed first keeps the
        runs in MLflow; another gets separate runs, under the key of its own process.
        """
        history = self._run.history
        for key in history.processes:
            runs = store.find(key)
            writers = {run.data.tags.get(PROCESS_TAG, "") for run in runs if _is_parent(run)}
            if writers <= {"", *history.processes} and (runs or key == history.processes[0]):
                history.key = key
                return runs
        history.key = history.processes[-1]
        return []

    def _parent(self, store: Store, parents: list[Run]) -> str:
        for extra in parents[1:]:
            store.delete(extra.info.run_id)
        history, tags = self._run.history, parent_tags(self._run)
        if not parents:
            name = f"{history.sweep.name} {self._run.run_dir.name}"
            return store.create(name, milliseconds(history.began_at), tags)
        run_id = str(parents[0].info.run_id)
        store.reopen(run_id)
        # Until it has ended again an answer would be an earlier one.
        renewed = (NOTE_TAG, PROCESS_TAG, RUN_DIR_TAG)
        store.write(run_id, tags={name: tags[name] for name in renewed})
        return run_id

    def _adopt(self, store: Store, run: Run) -> None:
        """Take a run as the trial's child, unless it is of a void start or a second one."""
        known, run_id = run.data.tags, str(run.info.run_id)
        trial = self._run.history.trials.get(known.get(TRIAL_TAG, ""))
        began = known.get(ATTEMPT_TAG, "")
        if trial is None or began != attempt(trial) or trial.trial.id in self._run.children:
            store.delete(run_id)
            return
        has_ended = run.info.status != Status.RUNNING and "state" in known
        self._run.children[trial.trial.id] = Child(
            run_id,
            attempt=began,
            role=known.get(ROLE_TAG, ""),
            ended=has_ended,
            present=set() if has_ended else store.history(run),
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
        child = self._run.children.get(trial.trial.id)
        if child is not None and child.attempt == attempt(trial):
            return child
        if child is not None:  # started anew: MLflow cannot take points back
            store.delete(child.run_id)
        began = trial.started_at if trial.started_at is not None else trial.finished_at
        baseline = self._run.history.sweep.baseline
        places = {PARENT_TAG: self._run.parent_id, SWEEP_TAG: self._run.history.key}
        if role := RunAnswer().role(trial, baseline):  # the answer's roles are known at the end
            places[ROLE_TAG] = role
        own = {**tags(trial), **places, "mlflow.user": user()}
        run_id = store.create(child_name(trial, baseline), milliseconds(began), own)
        made = self._run.children[trial.trial.id] = Child(run_id, attempt(trial), role)
        return made


def _is_parent(run: Run) -> bool:
    return PARENT_TAG not in run.data.tags
