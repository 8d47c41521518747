"""The mirror: a fold of the journal that writes what MLflow lacks, in a safe order.

The order makes every moment safe to be killed in. A child is created with its tags in one
step; its points come next; its status last. A later process looks up what is there by
tags, takes runs with a final status as whole and writes the others again: MLflow's databases
ignore a point or a param that they have.
"""

from collections.abc import Iterator
from pathlib import Path

from mlflow.entities import Run

from orchestrator.kernel.events import Event, decode
from orchestrator.storage.files import RunFile
from orchestrator.storage.history import TrialHistory
from orchestrator.tracking.mlflow import content
from orchestrator.tracking.mlflow.content import Child, MirroredRun
from orchestrator.tracking.mlflow.parent import (
    NOTE_TAG,
    RUN_DIR_TAG,
    RunAnswer,
    Store,
    parent_status,
    parent_tags,
    write_answer,
)

_LEFT_OUT = (RunFile.JOURNAL, RunFile.STEPS, RunFile.MLFLOW, RunFile.OUTPUT)
ARTIFACTS = tuple(file for file in RunFile if file not in _LEFT_OUT)
"""Files of a run directory that the parent run gets, as far as they exist."""


class Mirror:
    """One parent run and its children, brought up to date with a journal."""

    def __init__(self, run_dir: Path, uri: str, experiment: str = "") -> None:
        """Connect to nothing yet.

        Args:
            run_dir: The run directory.
            uri: MLflow's tracking URI.
            experiment: Name of the experiment, or empty for the sweep's name.
        """
        self._run = MirroredRun(run_dir=run_dir)
        self._offset = 0
        self._uri = uri
        self._experiment = experiment
        self._behind: set[str] = set()
        self._store: Store | None = None
        self._had_errors = False

    @property
    def ids(self) -> tuple[str, str]:
        """Return MLflow's ids of experiment and parent run; empty before the first success."""
        return "" if self._store is None else self._store.experiment_id, self._run.parent_id

    def catch_up(self) -> None:
        """Write whatever the journal has and MLflow lacks.

        Raises:
            Exception: Whatever MLflow raises. Call :meth:`forget`, then try again.
        """
        for event in self._new_events():
            if (changed := self._run.history.apply(event)) is not None:
                self._behind.add(changed.trial.id)
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

    def finish(self, exit_code: int) -> None:
        """Catch up, add the answer, end the parent run, then add the artifacts.

        The artifacts last: their store may be out of reach from here, or take longer than the
        driver waits, and the parent run would look as if it still ran.

        Args:
            exit_code: The driver's.

        Raises:
            Exception: Whatever MLflow raises. Call :meth:`forget`, then try again.
        """
        if self._had_errors:
            self.forget()  # a request that timed out may have been served since
        self.catch_up()
        if self._store is None:
            return  # an empty journal
        history, store = self._run.history, self._store
        last_ms = content.milliseconds(history.last_at)
        for trial_id, child in self._run.children.items():
            if history.trials[trial_id].running:
                store.client.set_terminated(child.run_id, content.Status.KILLED, last_ms)
        write_answer(store, self._run, is_whole=exit_code == 0)
        store.client.set_terminated(self._run.parent_id, parent_status(exit_code), last_ms)
        for path in map(self._run.run_dir.joinpath, ARTIFACTS):
            if path.exists():
                store.client.log_artifact(self._run.parent_id, str(path))

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

    def _attach(self) -> Store:
        """Connect, and find what is there."""
        store = Store(self._uri, self._experiment, self._run)
        runs = store.find(self._run.history.key)
        self._run.children.clear()
        self._run.parent_id = self._parent(store, [run for run in runs if _is_parent(run)])
        for run in runs:
            if not _is_parent(run):
                self._adopt(store, run)
        self._store = store
        return store

    def _parent(self, store: Store, parents: list[Run]) -> str:
        for extra in parents[1:]:
            store.client.delete_run(extra.info.run_id)
        history, tags = self._run.history, parent_tags(self._run)
        if not parents:
            name = f"{history.sweep.name} {self._run.run_dir.name}"
            return store.create(name, content.milliseconds(history.began_at), tags)
        run_id = str(parents[0].info.run_id)
        store.client.update_run(run_id, content.Status.RUNNING)
        # Until it has ended again an answer would be an earlier one.
        store.write(run_id, tags={name: tags[name] for name in (NOTE_TAG, RUN_DIR_TAG)})
        return run_id

    def _adopt(self, store: Store, run: Run) -> None:
        """Take a run as the trial's child, unless it is of a void start or a second one."""
        known, run_id = run.data.tags, str(run.info.run_id)
        trial = self._run.history.trials.get(known.get(content.TRIAL_TAG, ""))
        began = known.get(content.ATTEMPT_TAG, "")
        if trial is None:  # of a copy of the run directory
            return
        if began != content.attempt(trial) or trial.trial.id in self._run.children:
            store.client.delete_run(run_id)
            return
        ended = known.get("state", "") if run.info.status != content.Status.RUNNING else ""
        role = known.get(content.ROLE_TAG, "")
        self._run.children[trial.trial.id] = Child(run_id, began, role, ended=ended)

    def _bring(self, store: Store, trial: TrialHistory) -> None:
        child = self._child(store, trial)
        result = trial.concluded
        if child.ended and (result is None or child.ended == result.state):
            return
        store.write(
            child.run_id,
            points=content.points(trial, child.num_reports),
            params=None if child.has_params else content.params(trial),
            tags=None if result is None else content.tags(trial),
        )
        child.num_reports, child.has_params = len(trial.reports), True
        if result is not None:
            store.client.set_terminated(
                child.run_id, content.STATUS[result.state], content.milliseconds(trial.finished_at)
            )
            child.ended = result.state

    def _child(self, store: Store, trial: TrialHistory) -> Child:
        child = self._run.children.get(trial.trial.id)
        if child is not None and child.attempt == content.attempt(trial):
            return child
        if child is not None:  # started anew: MLflow cannot take points back
            store.client.delete_run(child.run_id)
        began = trial.started_at if trial.started_at is not None else trial.finished_at
        baseline = self._run.history.sweep.baseline
        places = {content.PARENT_TAG: self._run.parent_id, content.SWEEP_TAG: self._run.history.key}
        if role := RunAnswer().role(trial, baseline):  # the answer's roles are known at the end
            places[content.ROLE_TAG] = role
        own = {**content.tags(trial), **places, "mlflow.user": content.user()}
        run_id = store.create(content.child_name(trial, baseline), content.milliseconds(began), own)
        made = self._run.children[trial.trial.id] = Child(run_id, content.attempt(trial), role)
        return made


def _is_parent(run: Run) -> bool:
    return content.PARENT_TAG not in run.data.tags
