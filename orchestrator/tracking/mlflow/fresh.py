"""A new sqlite file with MLflow's tables, quickly, and whole or not at all.

MLflow builds a new database by running every migration it ever had, about a second of CPU
time, and leaves a broken file behind if it is killed meanwhile. So that is done once per
MLflow version, in the user's cache; a run's database is a copy of the result. A template that is
damaged is made again.
"""

from __future__ import annotations

import shutil
import sqlite3
from contextlib import closing, suppress
from pathlib import Path
from secrets import token_hex

import mlflow
from mlflow.store.tracking.sqlalchemy_store import SqlAlchemyStore

from orchestrator.data import DataFolders
from orchestrator.regular_files import open_regular

_DEFAULT_ARTIFACTS = "mlflow-artifacts:/"
"""Where ``mlflow server`` puts the artifacts of its Default experiment, unused by us."""


def ensure_database(path: Path) -> None:
    """Create ``path`` if it is absent; safe when several processes do so at once."""
    if path.exists():
        return
    path.parent.mkdir(parents=True, exist_ok=True)
    beside = _own_name(path)
    try:
        _fill(beside)
        with suppress(FileExistsError):
            path.hardlink_to(beside)  # unlike a rename, it never replaces another's file
    finally:
        beside.unlink(missing_ok=True)


def _fill(path: Path) -> None:
    """Make a database of the template, which is built where it is absent or no good."""
    template = DataFolders.default().cache / "mlflow" / f"{mlflow.__version__}.db"
    with suppress(OSError):
        _copy(template, path)
        if _is_whole(path):
            return
    template.parent.mkdir(parents=True, exist_ok=True)
    built = _own_name(template)
    try:
        store = SqlAlchemyStore(f"sqlite:///{built}", _DEFAULT_ARTIFACTS)  # type: ignore[no-untyped-call]
        store.engine.dispose()
        _copy(built, path)
        with suppress(OSError):  # a folder in its place, say: then it is built each time
            built.replace(template)
    finally:
        built.unlink(missing_ok=True)


def _own_name(path: Path) -> Path:
    """Return a name beside ``path`` that no other process has, on another node neither."""
    return path.with_name(f".{path.name}.{token_hex(8)}")


def _copy(source: Path, to: Path) -> None:
    to.unlink(missing_ok=True)
    # A new file: where others may write in the folder, a link could lie there.
    with open_regular(source) as template, to.open("xb") as file:
        shutil.copyfileobj(template, file)


def _is_whole(database: Path) -> bool:
    """Return True unless its file is damaged, or has not all of MLflow's tables."""
    try:
        with closing(sqlite3.connect(database)) as opened:
            (found,) = opened.execute("PRAGMA quick_check(1)").fetchone()
            num_versions = len(opened.execute("SELECT * FROM alembic_version").fetchall())
    except sqlite3.DatabaseError:
        return False
    return found == "ok" and num_versions == 1
