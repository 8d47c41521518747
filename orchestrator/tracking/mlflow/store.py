"""MLflow's client, as far as the mirror needs it."""

from __future__ import annotations

import shutil
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from secrets import token_hex

import mlflow
from mlflow.entities import Metric, Param, Run, RunData, RunTag
from mlflow.exceptions import MlflowException
from mlflow.store.tracking.sqlalchemy_store import SqlAlchemyStore
from mlflow.tracking import MlflowClient

from orchestrator.data import DataFolders
from orchestrator.tracking.mlflow.content import SWEEP_TAG, Place, Point, Status
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

    def find(self, sweep: str) -> list[Run]:
        """Return the parent and the children of a run of a sweep, oldest first."""
        return sorted(self._search(sweep), key=lambda run: int(run.info.start_time))

    def _search(self, sweep: str) -> Iterator[Run]:
        token, query = None, f"tags.`{SWEEP_TAG}` = '{sweep}'"
        while True:
            page = self._client.search_runs([self.experiment_id], query, page_token=token)
            yield from page
            token = page.token
            if not token:
                return

    def history(self, run: Run) -> set[Place]:
        """Return the keys of all points that a run has."""
        return {
            Place(name, point.timestamp, point.step)
            for name in run.data.metrics
            for point in self._client.get_metric_history(run.info.run_id, name)
        }

    def create(self, name: str, began_ms: int, tags: Mapping[str, str]) -> str:
        """Create a run with its tags in one step; return its id."""
        # With its tags: a writer that takes over after a kill finds by them what there is.
        created = self._client.create_run(self.experiment_id, began_ms, dict(tags), run_name=name)
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

    def data(self, run_id: str) -> RunData:
        """Return params, tags, and the latest of each metric of a run."""
        return self._client.get_run(run_id).data

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


def ensure_database(path: Path) -> None:
    """Create a sqlite file with MLflow's tables, whole or not at all, if it is absent.

    MLflow fills a new file by all its migrations, about a second of CPU time, and leaves a broken
    one if it is killed meanwhile. So that is done once per version of MLflow, in the user's cache.
    """
    if path.exists():
        return
    template = DataFolders.default().cache / "mlflow" / f"{mlflow.__version__}.db"
    path.parent.mkdir(parents=True, exist_ok=True)
    template.parent.mkdir(parents=True, exist_ok=True)
    new = path.with_name(f".{path.name}.{token_hex(8)}")
    try:
        if not template.exists():
            built = template.with_name(new.name)
            store = SqlAlchemyStore(f"sqlite:///{built}", _DEFAULT_ARTIFACTS)  # type: ignore[no-untyped-call]
            store.engine.dispose()
            built.replace(template)
        shutil.copyfile(template, new)
        with suppress(FileExistsError):
            path.hardlink_to(new)  # unlike a rename, it never replaces another's file
    finally:
        new.unlink(missing_ok=True)


_DEFAULT_ARTIFACTS = "mlflow-artifacts:/"
"""Where ``mlflow server`` puts the artifacts of its Default experiment, unused by us."""


def _folder(experiment: str) -> str:
    return "".join(c if c.isalnum() or c in "-_." else "_" for c in experiment)
