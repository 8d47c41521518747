"""A run's trackers: what the user is told while MLflow is waited for."""

from __future__ import annotations

import io
from pathlib import Path

import pytest

from orchestrator.driver.trackers import Trackers
from orchestrator.tracking.console.live import Lines
from orchestrator.tracking.mlflow import MlflowMirror
from tests.orchestrator.tracking.journals import Scribe


@pytest.fixture
def log() -> io.StringIO:
    return io.StringIO()


def test_without_mlflow_nothing_is_waited_for(log: io.StringIO, tmp_path: Path) -> None:
    trackers = Trackers(console=Lines(log), mlflow=None)
    (view,) = trackers.all
    Scribe(tmp_path / "run", view.apply).sweep()
    assert trackers.close(0) == []
    assert "MLflow" not in log.getvalue()


def test_mlflow_is_closed_last_and_that_is_said_first(
    log: io.StringIO, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    mirror = MlflowMirror(tmp_path, f"sqlite:///{tmp_path}/mlflow.db", say=pytest.fail)
    trackers = Trackers(console=Lines(log), mlflow=mirror, uri="http://host:5000")
    said_before: list[str] = []

    def close(_: int) -> list[str]:
        said_before.append(log.getvalue())
        return ["MLflow:      where"]

    monkeypatch.setattr(mirror, "close", close)
    assert trackers.all == [trackers.console, mirror]
    assert trackers.close(0) == ["MLflow:      where"]
    wait = "waiting for MLflow to take the last trials, at most 2:00: http://host:5000 ..."
    assert wait in said_before[0]
