"""A new sqlite file with MLflow's tables, quickly, and whole or not at all.

MLflow builds a new database by running every migration it ever had, about a second of CPU
time, and leaves a broken file behind if it is killed meanwhile. So that is done once per
MLflow version, in the user's cache; a run's database is a copy of the result.
"""

from __future__ import annotations

import os
import shutil
from contextlib import suppress
from pathlib import Path

import mlflow
from mlflow.store.tracking.sqlalchemy_store import SqlAlchemyStore

from orchestrator.data import DataFolders

_DEFAULT_ARTIFACTS = "mlflow-artifacts:/"
"""Where ``mlflow server`` puts the artifacts of its Default experiment, unused by us."""


def ensure_database(path: Path) -> None:
    """Create ``path`` if it is absent; safe when several processes do so at once."""
    if path.exists():
        return
    path.parent.mkdir(parents=True, exist_ok=True)
    beside = path.with_name(f".{path.name}.{os.getpid()}")
    beside.unlink(missing_ok=True)
    # A new file: where others may write in the folder, a link could lie there.
    with _template().open("rb") as template, beside.open("xb") as file:
        shutil.copyfileobj(template, file)
    with suppress(FileExistsError):
        path.hardlink_to(beside)  # unlike a rename, it never replaces another's file
    beside.unlink()


def _template() -> Path:
    folder = DataFolders.default().cache / "mlflow"
    template = folder / f"{mlflow.__version__}.db"
    if not template.exists():
        folder.mkdir(parents=True, exist_ok=True)
        beside = folder / f".{template.name}.{os.getpid()}"
        beside.unlink(missing_ok=True)
        store = SqlAlchemyStore(f"sqlite:///{beside}", _DEFAULT_ARTIFACTS)  # type: ignore[no-untyped-call]
        store.engine.dispose()
        beside.replace(template)
    return template
