"""A sweep as MLflow has it, back into the tables that it was written from.

The driver's mirror names things as the tables do, so that this is mostly a matter of
types: MLflow keeps params and tags as text.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Any

import pandas as pd

from orchestrator.analysis.tables.connection import asking, connected, environment
from orchestrator.analysis.tables.files import read_chosen, read_table
from orchestrator.analysis.tables.run_tables import RunTables, with_run_intervals
from orchestrator.errors import RunDirectoryError, nearest
from orchestrator.storage.files import RunFile
from orchestrator.storage.history import TRIAL_COLUMNS
from orchestrator.storage.sweep_record import SweepRecord, read_sweep
from orchestrator.storage.tables import trial_dtypes, typed
from orchestrator.tracking.mlflow.content import (
    COMPOSED_TAG,
    INDEX_TAG,
    PARENT_TAG,
    SWEEP_TAG,
    TRIAL_TAG,
)

if TYPE_CHECKING:
    from mlflow.entities import Run
    from mlflow.tracking import MlflowClient


@dataclass(frozen=True, kw_only=True)
class MlflowSweep:
    """One sweep in MLflow.

    Attributes:
        client: Where it is read from.
        parent: The sweep's parent run.
        uri: The tracking URI.
    """

    client: MlflowClient
    parent: Run
    uri: str

    @classmethod
    def find(cls, source: str, tracking_uri: str) -> MlflowSweep:
        """Find the sweep of a parent run's id, or the latest one of an experiment.

        Raises:
            RunDirectoryError: There is none, or MLflow cannot be read.
        """
        client = connected(tracking_uri)
        with asking(tracking_uri):
            parent = _run_of_id(client, source) or _latest_of(client, source)
        return cls(client=client, parent=parent, uri=tracking_uri)

    def tables(self) -> RunTables:
        """Return the tables of the run; the parent run holds all but the trials as files.

        Raises:
            RunDirectoryError: A file is missing, or MLflow cannot be read.
        """
        with asking(self.uri):
            return self._tables()

    def _tables(self) -> RunTables:
        with self._artifact(RunFile.SWEEP) as folder:
            sweep = read_sweep(Path(folder))
        with self._artifact(RunFile.CURVES) as folder:
            curves = read_table(Path(folder), RunFile.CURVES)
        with self._artifact(RunFile.STEP_TIMES) as folder:
            steps = read_table(Path(folder), RunFile.STEP_TIMES)
        trials = with_run_intervals(self._trials(sweep), sweep)
        tables = RunTables(
            trials=trials, curves=curves, steps=steps, sweep=sweep, chosen=self._chosen()
        )
        if COMPOSED_TAG not in self.parent.data.tags:
            return tables
        with self._artifact(RunFile.CANDIDATES) as folder:
            return replace(tables, candidates=read_table(Path(folder), RunFile.CANDIDATES))

    def _chosen(self) -> Mapping[str, Any] | None:
        """Return what the run recommended; None where it has not ended."""
        try:
            with self._artifact(RunFile.RECOMMENDED) as folder:
                return read_chosen(Path(folder))
        except RunDirectoryError:
            return None

    def _trials(self, sweep: SweepRecord) -> pd.DataFrame:
        """Return the trials that have ended by MLflow, in the order of asking."""
        children = [run for run in self._children() if "state" in run.data.tags]
        rows = pd.DataFrame([_row(run) for run in sorted(children, key=_place)], dtype=object)
        return typed(rows, trial_dtypes(sweep.knobs, rows.columns))

    def _children(self) -> Iterator[Run]:
        key = self.parent.data.tags[SWEEP_TAG]
        query, token = f"tags.`{SWEEP_TAG}` = '{key}'", None
        while True:
            experiments = [self.parent.info.experiment_id]
            page = self.client.search_runs(experiments, query, page_token=token)
            yield from (run for run in page if PARENT_TAG in run.data.tags)
            token = page.token
            if not token:
                return

    def _artifact(self, name: str) -> TemporaryDirectory[str]:
        """Return a temporary folder that holds a file of the parent run."""
        from mlflow.exceptions import MlflowException

        folder = TemporaryDirectory(prefix="sweep-artifact-")
        try:
            with environment(MLFLOW_ENABLE_ARTIFACTS_PROGRESS_BAR="false"):
                self.client.download_artifacts(self.parent.info.run_id, name, folder.name)
        except (MlflowException, OSError):
            folder.cleanup()
            raise RunDirectoryError(
                f"MLflow run {self.parent.info.run_id}: has no file {name}",
                "its sweep has not ended, or was killed: python -m orchestrator --resume "
                f"{self.parent.data.tags.get('sweep.run_dir', 'RUN_DIR')} completes it",
            ) from None
        return folder


def _run_of_id(client: MlflowClient, source: str) -> Run | None:
    if len(source) != 32 or not set(source) <= set("0123456789abcdef"):
        return None
    run = client.get_run(source)
    if run.info.lifecycle_stage == "deleted":
        raise RunDirectoryError(
            f"MLflow run {source}: was deleted", f"mlflow runs restore --run-id {source}"
        )
    if SWEEP_TAG not in run.data.tags or PARENT_TAG in run.data.tags:
        parent = run.data.tags.get(PARENT_TAG)
        hint = f"its parent is {parent}" if parent else "no sweep wrote it"
        raise RunDirectoryError(f"MLflow run {source}: is not the parent run of a sweep", hint)
    return run


def _latest_of(client: MlflowClient, name: str) -> Run:
    experiment = client.get_experiment_by_name(name)
    if experiment is None:
        known = [one.name for one in client.search_experiments()]
        raise RunDirectoryError(
            f"MLflow has no experiment {name!r}{nearest(name, known)}",
            f"experiments: {', '.join(known)}",
        )
    if experiment.lifecycle_stage == "deleted":
        raise RunDirectoryError(
            f"MLflow's experiment {name!r} was deleted",
            f"mlflow experiments restore --experiment-id {experiment.experiment_id}",
        )
    newest_first = ["attributes.start_time DESC"]
    query, token = "tags.`sweep.name` != ''", None
    while True:
        page = client.search_runs(
            [experiment.experiment_id], query, order_by=newest_first, page_token=token
        )
        for run in page:
            if SWEEP_TAG in run.data.tags and PARENT_TAG not in run.data.tags:
                return run
        token = page.token
        if not token:
            raise RunDirectoryError(
                f"MLflow's experiment {name!r} holds no sweep: its runs, if any, are of other "
                "programs",
                "give the experiment that the run printed, or the id of its parent run",
            )


def _place(run: Run) -> int:
    return int(run.data.tags[INDEX_TAG])


def _row(run: Run) -> dict[str, Any]:
    """Return the cells of a child run by column of the trials table."""
    tags = run.data.tags
    verdicts = {
        f"tags.{name}": value
        for name, value in tags.items()
        if name not in TRIAL_COLUMNS and not name.startswith(("mlflow.", "sweep."))
    }
    return {
        "trial_id": tags[TRIAL_TAG],
        **{name: tags[name] for name in TRIAL_COLUMNS if name in tags},
        **{f"params.{name}": value for name, value in run.data.params.items()},
        **{f"metrics.{name}": value for name, value in run.data.metrics.items()},
        **verdicts,
    }
