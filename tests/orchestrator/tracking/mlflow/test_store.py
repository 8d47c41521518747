"""MLflow's client against a real sqlite store: runs found again, points kept once."""

from __future__ import annotations

import math
from pathlib import Path

import pytest
from mlflow.tracking import MlflowClient

from orchestrator.storage.history import read_history
from orchestrator.tracking.mlflow.content import PARENT_TAG, SWEEP_TAG, MirroredRun, Point
from orchestrator.tracking.mlflow.store import Store
from tests.orchestrator.tracking.in_mlflow import sqlite
from tests.orchestrator.tracking.journals import Scribe, events_of


def connected(folder: Path, experiment: str = "") -> Store:
    """Return the store of a run of the sweep ``loader``."""
    run_dir = folder / "run"
    if not run_dir.exists():
        Scribe(run_dir).sweep()
    run = MirroredRun(run_dir=run_dir, history=read_history(events_of(run_dir)))
    return Store(sqlite(folder), experiment, run)


@pytest.fixture
def store(tmp_path: Path) -> Store:
    return connected(tmp_path)


@pytest.fixture
def client(store: Store, tmp_path: Path) -> MlflowClient:
    return MlflowClient(sqlite(tmp_path))


def create(store: Store, sweep: str, began_ms: int = 1, **tags: str) -> str:
    """Create a run of a sweep; a child where ``tags`` name its parent."""
    return store.create("x", began_ms, {SWEEP_TAG: sweep, **tags})


def test_the_runs_of_a_sweep_are_found_by_its_tag_oldest_first(
    store: Store, client: MlflowClient, tmp_path: Path
) -> None:
    parent = create(store, "a", 1000)
    later = create(store, "a", 3000, **{PARENT_TAG: parent})
    sooner = create(store, "a", 2000, **{PARENT_TAG: parent})
    create(store, "another", 1500)
    deleted = create(store, "a")
    store.client.delete_run(deleted)
    found = connected(tmp_path, "loader").find("a")
    assert [run.info.run_id for run in found] == [parent, sooner, later]
    assert client.get_run(deleted).info.lifecycle_stage == "deleted"
    assert connected(tmp_path, "mine").find("a") == []


def test_a_large_write_may_be_repeated(store: Store, client: MlflowClient) -> None:
    run_id = create(store, "a")
    points = [Point("val_acc", step / 2000, step, step) for step in range(1100)]
    points.append(Point("train_loss", math.nan, 2000, 20))
    texts = {f"p{number}": str(number) for number in range(120)}
    for _ in range(2):
        store.write(run_id, points=points, params=texts, tags=texts)
    assert len(client.get_metric_history(run_id, "val_acc")) == 1100
    assert len(client.get_metric_history(run_id, "train_loss")) == 1
    data = client.get_run(run_id).data
    assert data.params == texts
    assert data.tags["p119"] == "119"


def test_an_experiment_in_the_bin_is_restored(
    store: Store, client: MlflowClient, tmp_path: Path
) -> None:
    create(store, "a")
    client.delete_experiment(store.experiment_id)
    again = connected(tmp_path)
    assert again.experiment_id == store.experiment_id
    assert client.get_experiment(store.experiment_id).lifecycle_stage == "active"
    assert len(again.find("a")) == 1
