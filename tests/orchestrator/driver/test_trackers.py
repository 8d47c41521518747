"""What trials have printed, and what is printed while MLflow is waited for."""

from __future__ import annotations

import io
from pathlib import Path

import pytest

from orchestrator.driver.trackers import Outputs, close_trackers
from orchestrator.kernel.executor import log_in
from orchestrator.tracking.console.live import Lines
from orchestrator.tracking.mlflow import MlflowMirror
from orchestrator.trial import TrialResult, TrialState


def completed(output: str) -> TrialResult:
    return TrialResult(state=TrialState.COMPLETED, output=output)


def test_each_trial_has_a_file_and_one_that_printed_nothing_has_none(tmp_path: Path) -> None:
    kept = Outputs(tmp_path, tmp_path / "scratch", print)
    assert kept.keep("quiet", completed("")) == ""
    assert not (tmp_path / "output").exists()
    assert kept.keep("loud", completed("one\ntwo \udcff\n")) == ""
    assert (tmp_path / "output/loud.txt").read_text() == "one\ntwo ?\n"


def test_what_a_stopped_trial_printed_is_read_where_it_ran(tmp_path: Path) -> None:
    log = log_in(tmp_path / "scratch", "stopped")
    log.parent.mkdir(parents=True)
    log.write_text("epoch 1\n")
    kept = Outputs(tmp_path, tmp_path / "scratch", print)
    kept.keep("stopped", TrialResult(state=TrialState.STOPPED))
    assert (tmp_path / "output/stopped.txt").read_text() == "epoch 1\n"


# -- the trackers


def test_mlflow_is_closed_last_and_that_is_said_first(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    log = io.StringIO()
    assert close_trackers(Lines(log), None, 0) == []
    assert "MLflow" not in log.getvalue()
    mirror = MlflowMirror(tmp_path, f"sqlite:///{tmp_path}/mlflow.db", say=pytest.fail)
    said_before: list[str] = []

    def close(_: int) -> list[str]:
        said_before.append(log.getvalue())
        return ["MLflow:      where"]

    monkeypatch.setattr(mirror, "close", close)
    assert close_trackers(Lines(log), mirror, 0) == ["MLflow:      where"]
    assert "waiting for MLflow to take the last trials, at most 2:00 ..." in said_before[0]
