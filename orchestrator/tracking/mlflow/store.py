"""MLflow's client, as far as the mirror needs it."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from mlflow.entities import Metric, Param, Run, RunTag
from mlflow.exceptions import MlflowException
from mlflow.tracking import MlflowClient

from orchestrator.tracking.mlflow.content import (
    ATTEMPT_TAG,
    PARENT_TAG,
    PROCESS_TAG,
    ROLE_TAG,
    SWEEP_TAG,
    TRIAL_TAG,
    Place,
    Point,
    Status,
)
from orchestrator.tracking.mlflow.fresh import ensure_database
from orchestrator.tracking.mlflow.uris import sqlite_path


@dataclass(frozen=True, kw_only=True)
class Target:
    """The target of a mirror.

    Attributes:
        uri: MLflow's tracking URI.
        experiment: Name of the experiment, or empty for the sweep's name.
        artifact_root: Folder for artifacts, or None where a server keeps them.
    """

    uri: str
    experiment: str
    artifact_root: Path | None


@dataclass(frozen=True, kw_only=True)
class FoundRun:
    """A run that MLflow has already.

    Attributes:
        run_id: MLflow's own id.
        trial_id: The trial it is of; empty for the parent.
        attempt: The start of the trial it is of.
        began_ms: Its start time.
        ended: Whether nothing more is to be written to it.
        metrics: Names of its metrics.
        role: What its config is to the answer, as MLflow has it.
        process: Of a parent, the process that wrote it last; empty where that is not known.
    """

    run_id: str
    trial_id: str
    attempt: str
    began_ms: int
    ended: bool
    metrics: Sequence[str]
    role: str
    process: str = ""


@dataclass(frozen=True, kw_only=True)
class Content:
    """Content of a run in MLflow: the latest of each metric."""

    params: Mapping[str, str]
    metrics: Mapping[str, float]
    tags: Mapping[str, str]


@dataclass(frozen=True, kw_only=True)
class NewRun:
    """A run to be created."""

    name: str
    began_ms: int
    tags: Mapping[str, str]


class Store:
    """One experiment of one MLflow."""

    def __init__(self, target: Target, sweep_name: str) -> None:
        """Connect; create the sqlite file and the experiment if they are absent."""
        if (file := sqlite_path(target.uri)) is not None:
            ensure_database(file)
        self._client = MlflowClient(target.uri)
        self.experiment_id = self._experiment(target.experiment or sweep_name, target.artifact_root)

    def _experiment(self, name: str, root: Path | None) -> str:
        location = None if root is None else (root / _folder(name)).as_uri()
        experiment = self._client.get_experiment_by_name(name)
        if experiment is None:
            try:
                return str(self._client.create_experiment(name, location))
            except MlflowException:  # another driver was quicker
                experiment = self._client.get_experiment_by_name(name)
                if experiment is None:
                    raise
        # MLflow refuses another one of that name as long as this one is in its bin.
        if experiment.lifecycle_stage == "deleted":
            self._client.restore_experiment(experiment.experiment_id)
        return str(experiment.experiment_id)

    def find(self, sweep: str) -> list[FoundRun]:
        """Return the parent and the children of a run of a sweep, oldest first."""
        runs = sorted(self._search(sweep), key=lambda run: run.info.start_time)
        return [_found(run) for run in runs]

    def _search(self, sweep: str) -> Iterator[Run]:
        token, query = None, f"tags.`{SWEEP_TAG}` = '{sweep}'"
        while True:
            page = self._client.search_runs([self.experiment_id], query, page_token=token)
            yield from page
            token = page.token
            if not token:
                return

    def history(self, run: FoundRun) -> set[Place]:
        """Return the keys of all points that a run has."""
        return {
            Place(name, point.timestamp, point.step)
            for name in run.metrics
            for point in self._client.get_metric_history(run.run_id, name)
        }

    def create(self, run: NewRun) -> str:
        """Create a run with its tags in one step; return its id."""
        # With its tags: a writer that takes over after a kill finds by them what there is.
        created = self._client.create_run(
            self.experiment_id, run.began_ms, dict(run.tags), run_name=run.name
        )
        return str(created.info.run_id)

    def delete(self, run_id: str) -> None:
        """Move a run to MLflow's bin."""
        self._client.delete_run(run_id)

    def write(
        self,
        run_id: str,
        *,
        params: Mapping[str, str] | None = None,
        points: Sequence[Point] = (),
        tags: Mapping[str, str] | None = None,
    ) -> None:
        """Write in as few requests as MLflow's limits allow."""
        self._client.log_batch(
            run_id,
            metrics=[Metric(p.name, p.value, p.at_ms, p.step) for p in points],
            params=[Param(key, value) for key, value in (params or {}).items()],
            tags=[RunTag(key, value) for key, value in (tags or {}).items()],
        )

    def end(self, run_id: str, status: Status, at_ms: int) -> None:
        """Give a run its final status and end."""
        self._client.set_terminated(run_id, status.value, at_ms)

    def reopen(self, run_id: str) -> None:
        """Mark a run as running again."""
        self._client.update_run(run_id, Status.RUNNING.value)

    def upload(self, run_id: str, path: Path) -> None:
        """Copy a file or a folder to a run's artifacts, over one of the same name."""
        self._client.log_artifact(run_id, str(path))

    def upload_text(self, run_id: str, name: str, text: str) -> None:
        """Write a text to a file of a run's artifacts, over one of the same name."""
        self._client.log_text(run_id, text, name)

    def content(self, run_id: str) -> Content:
        """Return what a run holds."""
        data = self._client.get_run(run_id).data
        return Content(params=data.params, metrics=data.metrics, tags=data.tags)

    def delete_tag(self, run_id: str, name: str) -> None:
        """Take a tag from a run that has it."""
        self._client.delete_tag(run_id, name)

    def experiment_tags(self) -> dict[str, str]:
        """Return the tags of the experiment."""
        return dict(self._client.get_experiment(self.experiment_id).tags)

    def tag_experiment(self, tags: Mapping[str, str]) -> None:
        """Give the experiment some tags."""
        for name, text in tags.items():
            self._client.set_experiment_tag(self.experiment_id, name, text)


def _found(run: Run) -> FoundRun:
    tags = run.data.tags
    return FoundRun(
        run_id=run.info.run_id,
        trial_id=tags.get(TRIAL_TAG, "") if PARENT_TAG in tags else "",
        attempt=tags.get(ATTEMPT_TAG, ""),
        began_ms=run.info.start_time,
        ended=run.info.status != Status.RUNNING and "state" in tags,
        metrics=tuple(run.data.metrics),
        role=tags.get(ROLE_TAG, ""),
        process=tags.get(PROCESS_TAG, ""),
    )


def _folder(experiment: str) -> str:
    return "".join(c if c.isalnum() or c in "-_." else "_" for c in experiment)
