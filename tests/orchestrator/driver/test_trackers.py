"""What trials have printed, and what is printed while MLflow is waited for."""

from __future__ import annotations

import io
from pathlib import Path

import pytest

from orchestrator.driver.trackers import Outputs, close_trackers
from orchestrator.kernel.events import Finished
from orchestrator.kernel.executor import log_in
from orchestrator.tracking.console.live import Lines
from orchestrator.tracking.mlflow import MlflowMirror
from orchestrator.trial import TrialResult, TrialState


@pytest.mark.parametrize(
    ("state", "output", "kept"),
    [
        (TrialState.COMPLETED, "", None),
        (TrialState.COMPLETED, "one\ntwo \udcff\n", "one\ntwo ?\n"),
        (TrialState.STOPPED, "", "epoch 1\n"),  # read where it ran
    ],
)
def test_each_trial_has_a_file_and_one_that_printed_nothing_has_none(
    tmp_path: Path, state: TrialState, output: str, kept: str | None
) -> None:
    log = log_in(tmp_path / "scratch", "a")
    log.parent.mkdir(parents=True)
    log.write_text("epoch 1\n")
    result = TrialResult(state=state, output=output)
    outputs = Outputs(tmp_path, tmp_path / "scratch", pytest.fail)
    outputs.apply(Finished(trial_id="a", result=result))
    file = tmp_path / "output" / "a.txt"
    assert (file.read_text() if file.exists() else None) == kept


# -- the trackers


def test_mlflow_is_closed_last_and_that_is_said_first(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    log = io.StringIO()
    assert close_trackers(Lines(log), None, None, 0) == []
    assert "MLflow" not in log.getvalue()
    mirror = MlflowMirror(tmp_path, f"sqlite:///{tmp_path}/mlflow.db", say=pytest.fail)
    said_before: list[str] = []

    def close(_: int) -> list[str]:
        said_before.append(log.getvalue())
        return ["MLflow:      where"]

    monkeypatch.setattr(mirror, "close", close)
    assert close_trackers(Lines(log), None, mirror, 0) == ["MLflow:      where"]
    assert "waiting for MLflow to take the last trials, at most 2:00 ..." in said_before[0]
