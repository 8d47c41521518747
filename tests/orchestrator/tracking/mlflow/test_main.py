"""The writer's program: tries again while MLflow is away, shows no passwords, ends in time."""

import socket
import sys
import time
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

# Before a follower runs in this process: it bars pandas and numpy where nothing has imported them.
import pandas  # noqa: F401
import psutil
import pytest

from orchestrator.tracking.mlflow.__main__ import Follower
from tests.conftest import ROOT
from tests.helping import awaited
from tests.orchestrator.tracking.in_mlflow import assert_mirrored, runs_of, sqlite
from tests.orchestrator.tracking.journals import Scribe, make_trial

Status = Mapping[str, Any]


class FakeSleep:
    """Sleep that takes no time, keeps its seconds, and lets something happen meanwhile."""

    def __init__(self) -> None:
        self.slept_s: list[float] = []
        self.meanwhile: Callable[[], object] = lambda: None

    def __call__(self, seconds: float) -> None:
        self.slept_s.append(seconds)
        self.meanwhile()


@pytest.fixture
def sleep(monkeypatch: pytest.MonkeyPatch) -> FakeSleep:
    sleep = FakeSleep()
    monkeypatch.setattr(time, "sleep", sleep)
    monkeypatch.setenv("MLFLOW_HTTP_REQUEST_MAX_RETRIES", "0")  # as the writer's process has it
    return sleep


def followed(run_dir: Path, uri: str) -> tuple[int, list[Status]]:
    """Follow a run once; return the exit code and the status messages."""
    statuses: list[Status] = []
    return Follower(run_dir, uri, "", statuses.append).finish(0), statuses


def refused_address() -> str:
    """Return an address at which nothing listens, with a user and a password."""
    with socket.create_server(("127.0.0.1", 0)) as server:
        return f"http://me:secret@127.0.0.1:{server.getsockname()[1]}"


def test_a_store_that_is_away_is_tried_four_times_and_its_password_not_shown(
    scribe: Scribe, sleep: FakeSleep, capfd: pytest.CaptureFixture[str]
) -> None:
    code, statuses = followed(scribe.run_dir, refused_address())
    assert (code, sleep.slept_s) == (1, [1.0, 2.0, 4.0])
    assert [next(iter(status)) for status in statuses] == ["failed"] * 4
    reason = str(statuses[0]["failed"])
    assert reason.startswith("http://***@127.0.0.1:")
    assert "Connection refused" in reason, "the cause is at the end of a long message"
    assert "\n" not in reason
    shown = capfd.readouterr()
    assert "Traceback" in shown.err, "the log has all of it"
    assert "secret" not in f"{statuses}{shown}"


def test_a_store_that_comes_back_gets_all_of_the_run(
    scribe: Scribe, tmp_path: Path, sleep: FakeSleep
) -> None:
    scribe.whole(make_trial(0))
    scribe.ended()
    in_the_way = tmp_path / "store"
    in_the_way.write_text("no folder")
    sleep.meanwhile = in_the_way.unlink
    code, statuses = followed(scribe.run_dir, sqlite(in_the_way))
    assert (code, sleep.slept_s) == (0, [1.0])
    (parent,), _ = runs_of(sqlite(in_the_way))
    ids = {"experiment": parent.info.experiment_id, "parent": parent.info.run_id}
    assert (next(iter(statuses[0])), statuses[1:]) == ("failed", [{"done": True, **ids}])
    assert_mirrored(sqlite(in_the_way), scribe.run_dir)


def test_a_driver_s_death_ends_it(run_dir: Path, tmp_path: Path) -> None:
    code = (
        "import sys, time; from pathlib import Path\n"
        "from orchestrator.tracking.mlflow import MlflowMirror\n"
        "from tests.orchestrator.tracking.journals import Scribe\n"
        "run_dir = Path(sys.argv[1])\n"
        "Scribe(run_dir, MlflowMirror(run_dir, sys.argv[2], say=print).apply).sweep()\n"
        "time.sleep(60)\n"
    )
    driver = psutil.Popen([sys.executable, "-c", code, run_dir, sqlite(tmp_path)], cwd=ROOT)
    (writer,) = awaited(driver.children, "a process that writes")
    driver.kill()
    driver.wait()
    writer.wait(timeout=10)
