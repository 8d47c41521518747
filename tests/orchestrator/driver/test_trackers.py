"""The output of trials, and the lines that are printed while the run waits for MLflow."""

import socket
import time
from contextlib import suppress
from pathlib import Path
from threading import Thread
from types import SimpleNamespace

import pytest

from orchestrator.driver import trackers
from orchestrator.driver.options.options import Options
from orchestrator.driver.trackers import Outputs, close_trackers, make_trackers
from orchestrator.kernel.events import Finished
from orchestrator.kernel.executor import log_in
from orchestrator.tracking.mlflow import MlflowMirror
from orchestrator.trial import TrialResult, TrialState
from tests.orchestrator.tracking.journals import Scribe, make_trial


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


@pytest.mark.parametrize("answers", [False, True])
def test_a_server_that_hangs_delays_the_end_as_long_as_announced(
    answers: bool,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    """It accepts connections and is silent, or sends headers without end."""

    def endless() -> None:
        connection, began = server.accept()[0], b"HTTP/1.1 200 OK\r\n"
        with suppress(OSError):
            while connection.send(began) or True:
                time.sleep(0.1)
                began = b"X: 1\r\n"

    def close(code: int) -> list[str]:
        shown_before.append(capsys.readouterr().out)
        return MlflowMirror.close(mirror, code)

    shown_before: list[str] = []
    monkeypatch.setattr(trackers, "MLFLOW_S", 2.0)
    with socket.create_server(("127.0.0.1", 0)) as server:
        if answers:
            Thread(target=endless, daemon=True).start()
        uri = f"http://127.0.0.1:{server.getsockname()[1]}"
        request = SimpleNamespace(options=Options(tracking_uri=uri))
        console, mirror = make_trackers(
            request, SimpleNamespace(candidates=None), tmp_path, [], time.time
        )
        monkeypatch.setattr(mirror, "close", close)
        Scribe(tmp_path, mirror.apply).sweep().whole(make_trial(0))
        time.sleep(3.0 * answers)  # by then it is connected
        assert close_trackers(console, None, None, 0) == []
        began = time.monotonic()
        (line,) = close_trackers(console, None, mirror, 0)
    assert 1.9 < time.monotonic() - began < 4.0
    assert [text.count("MLflow") for text in shown_before] == [1]
    assert "waiting for MLflow to take the last trials, at most 0:02 ..." in shown_before[0]
    assert "is incomplete (not finished within 2 s); nothing is lost: --resume" in line
