"""The driver's side: it starts the writer, outlasts it, and waits for it in the end."""

import os
import socket
import time
from contextlib import suppress
from pathlib import Path

import psutil
import pytest
from mlflow.tracking import MlflowClient

from orchestrator.analysis.tables.load import write_tables
from orchestrator.storage.files import RunFile
from orchestrator.tracking.mlflow import MlflowMirror, default_uri
from orchestrator.tracking.mlflow.uris import how_to_open
from orchestrator.trial import TrialState
from tests.helping import awaited
from tests.orchestrator.tracking.in_mlflow import assert_mirrored, runs_of, sqlite
from tests.orchestrator.tracking.journals import Scribe, make_trial


def quiet(text: str) -> None:
    pytest.fail(text)


def test_a_sweep_is_mirrored_while_it_runs_and_whole_at_its_end(run_dir: Path) -> None:
    uri = default_uri(run_dir.parents[1])
    tracker = MlflowMirror(run_dir, uri, say=quiet)
    scribe = Scribe(run_dir, tracker.apply).sweep()
    for number in range(3):
        scribe.whole(make_trial(number))
        tracker.tick()
    scribe.whole(make_trial(3), TrialState.INFEASIBLE)
    scribe.ended()
    write_tables(run_dir)
    (run_dir / "report.html").write_text("<h1>report</h1>")
    lines = tracker.close(0)

    assert_mirrored(uri, run_dir)
    (parent,), children = runs_of(uri)
    ids = parent.info.experiment_id, parent.info.run_id
    command, then = how_to_open(uri, *ids)
    assert lines == [f"MLflow:      {command}", f"             {then}"]
    assert (run_dir / RunFile.MLFLOW).read_text().splitlines() == [command, then]
    assert "ui --workers 1 --backend-store-uri sqlite:///" in command
    assert parent.info.status == "FINISHED"
    assert parent.data.tags["data"] == "products-synthetic"
    assert {child.data.tags["data"] for child in children} == {"products-synthetic"}
    client = MlflowClient(uri)
    names = {file.path for file in client.list_artifacts(parent.info.run_id)}
    tables = {"trials.parquet", "trials.csv", "curves.parquet", "steps.parquet"}
    assert names == {*tables, "report.html"}
    report = client.download_artifacts(parent.info.run_id, "report.html", str(run_dir.parent))
    assert Path(report).read_text() == "<h1>report</h1>"


def writer_process() -> psutil.Process:
    """Return the process that writes; a moment after its start it has no command line yet."""

    def found() -> psutil.Process | None:
        for child in psutil.Process().children():
            with suppress(psutil.ZombieProcess):
                if "orchestrator.tracking.mlflow" in child.cmdline():
                    return child
        return None

    return awaited(found, "a process that writes")


def test_a_killed_writer_is_started_again_at_the_end(run_dir: Path, tmp_path: Path) -> None:
    tracker = MlflowMirror(run_dir, sqlite(tmp_path), say=quiet)
    scribe = Scribe(run_dir, tracker.apply).sweep()
    scribe.whole(make_trial(0))
    process = writer_process()
    process.kill()
    process.wait()
    scribe.whole(make_trial(1))
    (first, _) = tracker.close(0)
    assert first.startswith("MLflow:  ")
    assert_mirrored(sqlite(tmp_path), run_dir)


def test_it_yields_to_trials_from_the_first_start(run_dir: Path, tmp_path: Path) -> None:
    tracker = MlflowMirror(run_dir, sqlite(tmp_path), say=quiet, bound_s=0.1)
    scribe = Scribe(run_dir, tracker.apply).sweep()
    process = writer_process()
    awaited(lambda: len(_policies(process.pid)) > 1, "a second thread")
    assert os.SCHED_IDLE not in _policies(process.pid)
    scribe.started(scribe.asked(make_trial(0)))
    awaited(lambda: os.SCHED_IDLE in _policies(process.pid), "it yields")
    tracker.close(1)


def _policies(pid: int) -> list[int]:
    return [os.sched_getscheduler(int(task.name)) for task in Path(f"/proc/{pid}/task").iterdir()]


def test_a_server_that_is_away_has_one_note_and_costs_the_sweep_nothing(run_dir: Path) -> None:
    messages: list[str] = []
    with socket.create_server(("127.0.0.1", 0)) as server:
        port = server.getsockname()[1]
    tracker = MlflowMirror(run_dir, f"http://127.0.0.1:{port}", say=messages.append, bound_s=1.0)
    scribe = Scribe(run_dir, tracker.apply).sweep()
    longest_s = 0.0
    deadline = time.monotonic() + 30
    while not messages and time.monotonic() < deadline:
        began = time.monotonic()
        tracker.tick()
        longest_s = max(longest_s, time.monotonic() - began)
        time.sleep(0.05)
    scribe.whole(make_trial(0))
    (line,) = tracker.close(0)
    assert len(messages) == 1
    assert longest_s < 0.5
    assert "incomplete" in line
