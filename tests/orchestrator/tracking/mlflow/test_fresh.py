"""A new database is whole or absent, whoever else creates it and whatever is killed."""

from __future__ import annotations

import multiprocessing
import os
import shutil
import signal
import sqlite3
from collections.abc import Callable
from contextlib import closing
from pathlib import Path
from typing import BinaryIO

import mlflow
import pytest
from mlflow.tracking import MlflowClient

from orchestrator.data import DataFolders
from orchestrator.tracking.mlflow.fresh import ensure_database

FORK = multiprocessing.get_context("fork")
TEMPLATE = f"{mlflow.__version__}.db"


@pytest.fixture(scope="module", autouse=True)
def template(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Build the template of all databases, which takes MLflow a second."""
    ensure_database(tmp_path_factory.mktemp("first") / "mlflow.db")
    return DataFolders.default().cache / "mlflow" / TEMPLATE


@pytest.fixture
def own_template(tmp_path: Path, template: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Return a copy of the template in a cache of the test's own."""
    monkeypatch.setenv("SWEEP_CACHE", str(tmp_path / "cache"))
    own = tmp_path / "cache" / "mlflow" / TEMPLATE
    own.parent.mkdir(parents=True)
    shutil.copy(template, own)
    return own


def in_child(action: Callable[[], object]) -> int:
    """Run an action in a forked process; return its exit code, negative for a signal."""
    child = FORK.Process(target=action)
    child.start()
    child.join()
    assert child.exitcode is not None
    return child.exitcode


def assert_whole(path: Path) -> None:
    with closing(sqlite3.connect(path)) as database:
        assert database.execute("pragma integrity_check").fetchall() == [("ok",)]
    assert [e.name for e in MlflowClient(f"sqlite:///{path}").search_experiments()] == ["Default"]


def die(*args: object, **named: object) -> None:
    """Kill this process as the kernel does where memory is short."""
    os.kill(os.getpid(), signal.SIGKILL)


def copy_half_and_die(source: BinaryIO, target: BinaryIO) -> None:
    """Copy the first half of a file, then kill this process."""
    content = source.read()
    target.write(content[: len(content) // 2])
    target.flush()
    die()


def test_a_database_is_created_with_its_folder_and_nothing_beside_it(tmp_path: Path) -> None:
    path = tmp_path / "runs" / "mlflow.db"
    ensure_database(path)
    assert list(path.parent.iterdir()) == [path]
    assert_whole(path)


def test_a_file_that_is_there_stays_as_it_is(tmp_path: Path) -> None:
    path = tmp_path / "mlflow.db"
    path.write_text("a user's own")
    ensure_database(path)
    assert path.read_text() == "a user's own"
    assert list(tmp_path.iterdir()) == [path]


def test_of_processes_at_the_same_time_all_have_the_file_of_the_first(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path, num_processes = tmp_path / "mlflow.db", 3
    copied = FORK.Barrier(num_processes)
    files = FORK.SimpleQueue()
    copy = shutil.copyfileobj

    def copy_together(source: BinaryIO, target: BinaryIO) -> None:
        copy(source, target)
        copied.wait(timeout=30)  # each has seen that there is no file, and none has made it

    def create() -> None:
        ensure_database(path)
        files.put(path.stat().st_ino)

    monkeypatch.setattr(shutil, "copyfileobj", copy_together)
    children = [FORK.Process(target=create) for _ in range(num_processes)]
    for child in children:
        child.start()
    for child in children:
        child.join()
    assert [child.exitcode for child in children] == [0] * num_processes
    assert {files.get() for _ in children} == {path.stat().st_ino}, "none was replaced"
    files.close()
    assert list(tmp_path.iterdir()) == [path]
    assert_whole(path)


@pytest.mark.parametrize(
    ("place", "name", "end"),
    [(shutil, "copyfileobj", copy_half_and_die), (Path, "hardlink_to", die)],
    ids=["halfway through the file", "with the whole file"],
)
def test_a_killed_process_leaves_no_database(
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    place: object,
    name: str,
    end: object,
) -> None:
    path = tmp_path / "mlflow.db"

    def create() -> None:
        monkeypatch.setattr(place, name, end)
        ensure_database(path)

    assert in_child(create) == -signal.SIGKILL
    assert not path.exists()
    ensure_database(path)
    assert_whole(path)


def test_a_process_killed_in_building_the_template_leaves_none(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("SWEEP_CACHE", str(tmp_path / "cache"))
    template = tmp_path / "cache" / "mlflow" / TEMPLATE

    def create() -> None:
        monkeypatch.setattr("orchestrator.tracking.mlflow.fresh.SqlAlchemyStore", build_part)
        ensure_database(tmp_path / "mlflow.db")

    def build_part(uri: str, artifacts: str) -> None:
        with closing(sqlite3.connect(uri.removeprefix("sqlite:///"))) as database:
            database.execute("create table half (made)")
        die()

    assert in_child(create) == -signal.SIGKILL
    assert template.parent.is_dir(), "it had begun"
    assert not template.exists()
    assert not (tmp_path / "mlflow.db").exists()


def test_the_tables_are_built_once_for_all_databases(tmp_path: Path, own_template: Path) -> None:
    with closing(sqlite3.connect(own_template)) as database:
        database.execute("create table marked (made)")
    ensure_database(tmp_path / "mlflow.db")
    with closing(sqlite3.connect(tmp_path / "mlflow.db")) as database:
        assert database.execute("select * from marked").fetchall() == []


def test_a_template_that_is_no_good_is_made_again(tmp_path: Path, own_template: Path) -> None:
    os.truncate(own_template, 5000)
    ensure_database(tmp_path / "damaged.db")
    assert_whole(tmp_path / "damaged.db")
    assert_whole(own_template)
    own_template.unlink()
    os.mkfifo(own_template)
    ensure_database(tmp_path / "pipe.db")
    assert_whole(tmp_path / "pipe.db")
    assert_whole(own_template)
    assert list(own_template.parent.iterdir()) == [own_template]


def test_a_folder_in_the_place_of_the_template_stays_and_is_no_matter(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("SWEEP_CACHE", str(tmp_path / "cache"))
    own = tmp_path / "cache" / "mlflow" / TEMPLATE
    own.mkdir(parents=True)
    ensure_database(tmp_path / "mlflow.db")
    assert_whole(tmp_path / "mlflow.db")
    assert list(own.parent.iterdir()) == [own]
