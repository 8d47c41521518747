"""MLflow's client against a real sqlite store: runs found again, points kept, the bin emptied."""

from __future__ import annotations

import itertools
import math
import shutil
from pathlib import Path

import pytest
from mlflow.entities import Run
from mlflow.tracking import MlflowClient

from orchestrator.tracking.mlflow.content import (
    PARENT_TAG,
    SWEEP_TAG,
    TRIAL_TAG,
    Place,
    Point,
)
from orchestrator.tracking.mlflow.store import Store, Target, ensure_database
from tests.orchestrator.tracking.in_mlflow import sqlite


def target(folder: Path, experiment: str = "", root: Path | None = None) -> Target:
    return Target(uri=sqlite(folder), experiment=experiment, artifact_root=root)


@pytest.fixture
def store(tmp_path: Path) -> Store:
    return Store(target(tmp_path), "loader")


@pytest.fixture
def client(store: Store, tmp_path: Path) -> MlflowClient:
    return MlflowClient(sqlite(tmp_path))


def create(store: Store, sweep: str, began_ms: int = 1, **tags: str) -> str:
    """Create a run of a sweep; a child where ``tags`` name its parent."""
    return store.create("x", began_ms, {SWEEP_TAG: sweep, **tags})


def only(store: Store, sweep: str = "a") -> Run:
    """Return the only run of a sweep."""
    (run,) = store.find(sweep)
    return run


def test_the_runs_of_a_sweep_are_found_by_its_tag_oldest_first(
    store: Store, tmp_path: Path
) -> None:
    parent = create(store, "a", 1000)
    later = create(store, "a", 3000, **{PARENT_TAG: parent, TRIAL_TAG: "t2"})
    sooner = create(store, "a", 2000, **{PARENT_TAG: parent, TRIAL_TAG: "t1"})
    create(store, "another", 1500)
    found = Store(target(tmp_path), "loader").find("a")
    assert [run.info.run_id for run in found] == [parent, sooner, later]


def test_runs_of_another_experiment_are_not_found(store: Store, tmp_path: Path) -> None:
    create(store, "a")
    assert Store(target(tmp_path, experiment="mine"), "loader").find("a") == []
    assert len(Store(target(tmp_path, experiment="loader"), "other").find("a")) == 1


def test_a_deleted_run_is_not_found_but_kept_in_the_bin(store: Store, client: MlflowClient) -> None:
    run_id = create(store, "a")
    store.delete(run_id)
    assert store.find("a") == []
    assert client.get_run(run_id).info.lifecycle_stage == "deleted"


def test_the_points_of_a_run_are_found_again(store: Store) -> None:
    run_id = create(store, "a")
    points = [
        Point("val_acc", 0.5, 1000, 10),
        Point("val_acc", 0.5, 2000, 20),
        Point("train_loss", math.nan, 2000, 20),
    ]
    assert store.history(only(store)) == set()
    store.write(run_id, points=points)
    assert store.history(only(store)) == {
        Place("val_acc", 1000, 10), Place("val_acc", 2000, 20), Place("train_loss", 2000, 20),
    }  # fmt: skip


def test_a_write_may_be_larger_than_a_request(store: Store, client: MlflowClient) -> None:
    run_id = create(store, "a")
    points = [Point("val_acc", step / 2000, step, step) for step in range(1100)]
    store.write(
        run_id,
        points=points,
        params={f"p{number}": str(number) for number in range(120)},
        tags={f"t{number}": str(number) for number in range(120)},
    )
    data = client.get_run(run_id).data
    assert store.history(only(store)) == {point.place for point in points}
    assert data.params == {f"p{number}": str(number) for number in range(120)}
    assert data.tags["t119"] == "119"


def test_an_experiment_in_the_bin_is_restored(
    store: Store, client: MlflowClient, tmp_path: Path
) -> None:
    run_id = create(store, "a")
    client.delete_experiment(store.experiment_id)
    again = Store(target(tmp_path), "loader")
    assert again.experiment_id == store.experiment_id
    assert client.get_experiment(store.experiment_id).lifecycle_stage == "active"
    assert only(again).info.run_id == run_id


def test_an_experiment_that_another_driver_creates_meanwhile_is_taken(
    store: Store, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    find, num_asked = MlflowClient.get_experiment_by_name, itertools.count()

    def asked_too_early(client: MlflowClient, name: str) -> object:
        return find(client, name) if next(num_asked) else None

    monkeypatch.setattr(MlflowClient, "get_experiment_by_name", asked_too_early)
    assert Store(target(tmp_path), "loader").experiment_id == store.experiment_id


def test_artifacts_lie_in_a_folder_that_any_file_system_takes(tmp_path: Path) -> None:
    root = tmp_path / "artifacts"
    store = Store(target(tmp_path, experiment="mine: a/b", root=root), "loader")
    file = tmp_path / "report.html"
    run_id = create(store, "a")
    for content in ("first", "second"):
        file.write_text(content)
        store.upload(run_id, file)
    (copy,) = root.rglob("report.html")
    assert copy.read_text() == "second"
    assert copy.relative_to(root).parts[0] == "mine__a_b"


# -- a new database


def test_a_database_is_whole_and_nothing_else_is_left(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("SWEEP_CACHE", str(tmp_path / "cache"))
    path = tmp_path / "runs" / "mlflow.db"
    ensure_database(path)
    assert list(path.parent.iterdir()) == [path]
    client = MlflowClient(f"sqlite:///{path}")
    assert [each.name for each in client.search_experiments()] == ["Default"]
    assert len(list((tmp_path / "cache" / "mlflow").iterdir())) == 1


def test_a_file_that_another_process_made_meanwhile_stays(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path, copy = tmp_path / "mlflow.db", shutil.copyfile

    def copied_too_late(source: Path, target: Path) -> None:
        path.write_text("another's")
        copy(source, target)

    monkeypatch.setattr(shutil, "copyfile", copied_too_late)
    ensure_database(path)
    ensure_database(path)
    assert path.read_text() == "another's"
    assert list(tmp_path.iterdir()) == [path]
