"""MLflow's client, as far as the mirror needs it."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence

from mlflow.entities import Metric, Param, Run, RunTag
from mlflow.exceptions import MlflowException
from mlflow.tracking import MlflowClient

from orchestrator.tracking.mlflow.content import SWEEP_TAG, MirroredRun, Point
from orchestrator.tracking.mlflow.uris import artifact_root, sqlite_path


class Store:
    """One experiment of one MLflow.

    Attributes:
        client: MLflow's own client.
        experiment_id: MLflow's id of the experiment.
    """

    def __init__(self, uri: str, experiment: str, run: MirroredRun) -> None:
        """Connect; create the sqlite file and the experiment if they are absent.

        Args:
            uri: MLflow's tracking URI.
            experiment: Name of the experiment, or empty for the sweep's name.
            run: The run that is mirrored.
        """
        if (file := sqlite_path(uri)) is not None:
            file.parent.mkdir(parents=True, exist_ok=True)
        self.client = MlflowClient(uri)
        name, root = experiment or run.history.sweep.name, artifact_root(uri, run.run_dir)
        location = None if root is None else (root / re.sub(r"[^\w.-]", "_", name)).as_uri()
        self.experiment_id = self._experiment(name, location)

    def _experiment(self, name: str, location: str | None) -> str:
        experiment = self.client.get_experiment_by_name(name)
        if experiment is None:
            try:
                return str(self.client.create_experiment(name, location))
            except MlflowException:  # another driver was quicker
                experiment = self.client.get_experiment_by_name(name)
                if experiment is None:
                    raise
        # MLflow refuses another one of that name as long as this one is in its bin.
        if experiment.lifecycle_stage == "deleted":
            self.client.restore_experiment(experiment.experiment_id)
        return str(experiment.experiment_id)

    def find(self, sweep: str) -> list[Run]:
        """Return the parent and the children of a run of a sweep, oldest first."""
        query, runs, token = f"tags.`{SWEEP_TAG}` = '{sweep}'", list[Run](), None
        while True:
            page = self.client.search_runs([self.experiment_id], query, page_token=token)
            runs += page
            token = page.token
            if not token:
                return sorted(runs, key=lambda run: int(run.info.start_time))

    def create(self, name: str, began_ms: int, tags: Mapping[str, str]) -> str:
        """Create a run with its tags in one step; return its id."""
        # With its tags: a writer that takes over after a kill finds by them what there is.
        created = self.client.create_run(self.experiment_id, began_ms, dict(tags), run_name=name)
        return str(created.info.run_id)

    def write(
        self,
        run_id: str,
        *,
        params: Mapping[str, str] | None = None,
        points: Sequence[Point] = (),
        tags: Mapping[str, str] | None = None,
    ) -> None:
        """Write in as few requests as MLflow's limits allow."""
        self.client.log_batch(
            run_id,
            metrics=[Metric(p.name, p.value, p.at_ms, p.step) for p in points],
            params=[Param(key, value) for key, value in (params or {}).items()],
            tags=[RunTag(key, value) for key, value in (tags or {}).items()],
        )
