from __future__ import annotations

import os
import random
import signal
import socket
import subprocess
import sys
import time
from pathlib import Path

import pandas as pd
import psutil
import pytest
from mlflow.tracking import MlflowClient

from analysis.tables.run_tables import with_run_intervals
from orchestrator.errors import SweepError
from orchestrator.storage.files import RunFile
from orchestrator.storage.journal import read_journal
from orchestrator.storage.tables import trials_table, write_tables
from orchestrator.tracking.mlflow import MlflowMirror, checked_uri, default_uri
from orchestrator.tracking.mlflow.mirror import Mirror
from orchestrator.tracking.mlflow.places import artifact_root, how_to_open, without_password
from orchestrator.tracking.mlflow.store import Target
from orchestrator.trial import TrialState
from tests.orchestrator.tracking.in_mlflow import assert_mirrored, runs_of, search, sqlite
from tests.orchestrator.tracking.journals import Scribe, make_trial

ROOT = Path(__file__).resolve().parents[4]


def mirror_of(run_dir: Path, uri: str) -> Mirror:
    target = Target(uri=uri, experiment="", artifact_root=artifact_root(uri, run_dir))
    return Mirror(run_dir, run_dir / RunFile.JOURNAL, target)


def quiet(text: str) -> None:
    pytest.fail(f"said: {text}")


@pytest.fixture
def run_dir(tmp_path: Path) -> Path:
    return tmp_path / "runs" / "loader" / "first run"


# -- the whole way, as the driver does it


def test_a_sweep_is_mirrored_while_it_runs_and_whole_at_its_end(run_dir: Path) -> None:
    uri = default_uri(run_dir.parents[1])
    tracker = MlflowMirror(run_dir, uri, say=quiet)
    scribe = Scribe(run_dir, tracker.on_event)
    scribe.sweep()
    for number in range(3):
        scribe.whole(make_trial(number))
        tracker.tick()
    scribe.whole(make_trial(3), TrialState.INFEASIBLE)
    scribe.ended()
    write_tables(run_dir, complete=with_run_intervals)
    (run_dir / "report.html").write_text("<h1>report</h1>")
    lines = tracker.close(0)

    assert lines == [f"MLflow:      {how_to_open(uri, '', '')}"]
    assert "ui --backend-store-uri sqlite:///" in lines[0]
    assert_mirrored(uri, run_dir)
    (parent,), children = runs_of(uri)
    assert parent.info.status == "FINISHED"
    assert parent.data.tags["data"] == "products-synthetic"
    assert {child.data.tags["data"] for child in children} == {"products-synthetic"}
    client = MlflowClient(uri)
    names = {file.path for file in client.list_artifacts(parent.info.run_id)}
    tables = {"trials.parquet", "trials.csv", "curves.parquet", "steps.parquet"}
    assert names == {*tables, "report.html"}
    report = client.download_artifacts(parent.info.run_id, "report.html", str(run_dir.parent))
    assert Path(report).read_text() == "<h1>report</h1>"


def test_search_runs_gives_the_tables_names_and_figures(run_dir: Path, tmp_path: Path) -> None:
    uri = sqlite(tmp_path)
    scribe = Scribe(run_dir)
    scribe.sweep()
    for number, state in enumerate((TrialState.COMPLETED, TrialState.STOPPED, TrialState.FAILED)):
        scribe.whole(make_trial(number), state)
    mirror_of(run_dir, uri).finish(0)

    trials = trials_table(read_journal(run_dir / RunFile.JOURNAL)).set_index("trial_id")
    found = search(uri).set_index("tags.sweep.trial_id").loc[trials.index]
    for name in [n for n in trials.columns if n.startswith("metrics.")]:
        expected = trials[name]
        got = found[name] if name in found else pd.Series(index=trials.index, dtype=float)
        pd.testing.assert_series_equal(got, expected, check_names=False)
    for name in ("params.lr", "params.num_workers", "params.pin_memory", "params.fanouts"):
        assert found[name].tolist() == trials[name].map(str).tolist()
    for name in ("state", "stage", "data", "node", "wall_s", "seed"):
        assert found[f"tags.{name}"].dropna().tolist() == trials[name].dropna().map(str).tolist()
    assert found["tags.bound"].dropna().tolist() == ["loader", "loader"]
    assert found["status"].tolist() == ["FINISHED", "FINISHED", "FAILED"]


# -- interrupted and gone on with


def test_a_figure_that_is_no_number_stands_for_a_trial_that_diverged(
    run_dir: Path, tmp_path: Path
) -> None:
    scribe = Scribe(run_dir)
    scribe.sweep()
    trial = scribe.asked(make_trial(0))
    scribe.started(trial)
    position = {"epoch": 1, "samples": 1, "elapsed_s": 1.0}
    for step, loss in enumerate((2.0, float("nan"))):
        report = {"step": step, "metrics": {"train_loss": loss}, **position}
        scribe.record("report", trial_id=trial.id, report=report)
    result = {"state": "infeasible", "reason": "NaN", "metrics": {"train_loss": float("nan")}}
    scribe.record("finished", trial_id=trial.id, result=result)
    mirror_of(run_dir, sqlite(tmp_path)).finish(0)
    assert search(sqlite(tmp_path))["metrics.train_loss"].isna().all()
    assert trials_table(read_journal(run_dir / RunFile.JOURNAL))["metrics.train_loss"].isna().all()
    (child,) = runs_of(sqlite(tmp_path))[1]
    history = MlflowClient(sqlite(tmp_path)).get_metric_history(child.info.run_id, "train_loss")
    assert [str(point.value) for point in history] == ["2.0", "nan"]


def test_resuming_leaves_one_child_for_each_trial(run_dir: Path, tmp_path: Path) -> None:
    uri = sqlite(tmp_path)
    scribe = Scribe(run_dir)
    scribe.sweep()
    scribe.whole(make_trial(0))
    scribe.whole(make_trial(2), TrialState.NOT_RUN)
    cut_short = scribe.asked(make_trial(1))
    scribe.started(cut_short)
    for epoch in (1, 2):
        scribe.reported(cut_short, epoch)
    scribe.ended(130)
    mirror_of(run_dir, uri).finish(None)
    (parent,), children = runs_of(uri)
    assert parent.info.status == "KILLED"
    assert sorted(c.info.status for c in children) == ["FINISHED", "KILLED", "KILLED"]

    scribe.resumed()
    resumed = mirror_of(run_dir, uri)
    resumed.catch_up()
    (parent,), children = runs_of(uri)
    assert parent.info.status == "RUNNING"
    assert len(children) == 2  # what was cut short is void
    time.sleep(0.002)  # a start in the same millisecond would be the same start
    scribe.started(cut_short)
    scribe.reported(cut_short, 1)
    resumed.catch_up()
    scribe.finished(cut_short)
    scribe.started(make_trial(2))
    scribe.reported(make_trial(2), 1)
    scribe.finished(make_trial(2))
    scribe.ended(0)
    resumed.finish(0)
    assert_mirrored(uri, run_dir)
    assert runs_of(uri)[0][0].info.status == "FINISHED"


def test_a_trial_that_was_run_after_all_does_not_keep_the_reason_why_it_was_not(
    run_dir: Path, tmp_path: Path
) -> None:
    uri = sqlite(tmp_path)
    scribe = Scribe(run_dir)
    scribe.sweep()
    trial = scribe.whole(make_trial(0), TrialState.NOT_RUN)
    scribe.ended(0)
    mirror_of(run_dir, uri).finish(None)
    time.sleep(0.002)
    scribe.resumed()
    scribe.started(trial)
    scribe.reported(trial, 1)
    mirror = mirror_of(run_dir, uri)
    mirror.catch_up()
    (child,) = runs_of(uri)[1]
    assert "state" not in child.data.tags, "its fate is open"
    scribe.finished(trial)
    scribe.ended(0)
    mirror.finish(0)
    (child,) = runs_of(uri)[1]
    assert child.data.tags["state"] == "completed"
    assert "reason" not in child.data.tags
    assert_mirrored(uri, run_dir)


def test_a_moved_run_is_still_the_same(run_dir: Path, tmp_path: Path) -> None:
    uri = sqlite(tmp_path)
    scribe = Scribe(run_dir)
    scribe.sweep()
    scribe.whole(make_trial(0))
    mirror_of(run_dir, uri).finish(0)
    moved = run_dir.rename(tmp_path / "elsewhere")
    mirror_of(moved, uri).finish(0)
    assert_mirrored(uri, moved)


def test_killed_at_any_moment_and_started_again_it_writes_everything_once(
    run_dir: Path, tmp_path: Path
) -> None:
    uri = sqlite(tmp_path)
    scribe = Scribe(run_dir)
    scribe.sweep()
    for number in range(12):
        scribe.whole(make_trial(number))
    scribe.ended()
    whole_s = _seconds_of(lambda: _finish_in_child(run_dir, sqlite(tmp_path / "other"), None))
    rng = random.Random(5)
    num_killed = sum(
        _finish_in_child(run_dir, uri, rng.uniform(0.0, whole_s / 3)) == -signal.SIGKILL
        for _ in range(12)
    )
    assert num_killed >= 6
    mirror_of(run_dir, uri).finish(0)
    assert_mirrored(uri, run_dir)


def _finish_in_child(run_dir: Path, uri: str, kill_after_s: float | None) -> int:
    """The mirror in a process of its own, killed after a while; returns its exit status."""
    pid = os.fork()
    if pid == 0:
        mirror_of(run_dir, uri).finish(0)
        os._exit(0)
    if kill_after_s is not None:
        time.sleep(kill_after_s)
        os.kill(pid, signal.SIGKILL)
    return os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])


def _seconds_of(action: object) -> float:
    assert callable(action)
    began = time.perf_counter()
    action()
    return time.perf_counter() - began


def test_an_error_at_any_call_is_made_good(
    run_dir: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The server loses the answer: it did what was asked, but the mirror hears of an error."""
    uri = sqlite(tmp_path)
    scribe = Scribe(run_dir)
    scribe.sweep()
    for number in range(3):
        scribe.whole(make_trial(number))
    scribe.ended()
    mirror = mirror_of(run_dir, uri)
    num_errors = 0
    for name in ("create_run", "log_batch", "set_terminated"):
        original = getattr(MlflowClient, name)

        def deaf(*args: object, _original: object = original, **named: object) -> object:
            assert callable(_original)
            _original(*args, **named)
            raise ConnectionError("no answer")

        with monkeypatch.context() as patch:
            patch.setattr(MlflowClient, name, deaf)
            for _ in range(2):
                try:
                    mirror.catch_up()
                except ConnectionError:
                    num_errors += 1
                    mirror.forget()
    assert num_errors == 6
    mirror.finish(0)
    assert_mirrored(uri, run_dir)


# -- the process


def writer_process() -> psutil.Process:
    (process,) = psutil.Process().children()
    return process


def test_a_killed_writer_is_started_again_and_that_is_said_once(
    run_dir: Path, tmp_path: Path
) -> None:
    said: list[str] = []
    tracker = MlflowMirror(run_dir, sqlite(tmp_path), say=said.append)
    scribe = Scribe(run_dir, tracker.on_event)
    scribe.sweep()
    scribe.whole(make_trial(0))
    for _ in range(2):
        process = writer_process()
        process.kill()
        while process.is_running() and process.status() != psutil.STATUS_ZOMBIE:
            time.sleep(0.01)
        tracker.tick()
    scribe.whole(make_trial(1))
    (line,) = tracker.close(0)
    assert line.startswith("MLflow:  ")
    assert len(said) == 1
    assert "died" in said[0]
    assert_mirrored(sqlite(tmp_path), run_dir)


def test_it_yields_to_trials_from_the_first_start(run_dir: Path, tmp_path: Path) -> None:
    tracker = MlflowMirror(run_dir, sqlite(tmp_path), say=quiet, bound_s=0.1)
    scribe = Scribe(run_dir, tracker.on_event)
    scribe.sweep()
    process = writer_process()
    deadline = time.monotonic() + 30
    while len(os.listdir(f"/proc/{process.pid}/task")) < 2:  # noqa: PTH208 - no files
        assert time.monotonic() < deadline
        time.sleep(0.01)
    assert os.SCHED_IDLE not in _policies(process.pid)
    scribe.started(scribe.asked(make_trial(0)))
    while os.SCHED_IDLE not in _policies(process.pid):
        assert time.monotonic() < deadline
        time.sleep(0.01)
    tracker.close(1)


def _policies(pid: int) -> list[int]:
    return [os.sched_getscheduler(int(task.name)) for task in Path(f"/proc/{pid}/task").iterdir()]


def test_the_writer_dies_with_its_driver(run_dir: Path, tmp_path: Path) -> None:
    code = (
        "import sys, time; from pathlib import Path\n"
        "from orchestrator.tracking.mlflow import MlflowMirror\n"
        "from tests.orchestrator.tracking.journals import Scribe\n"
        "run_dir = Path(sys.argv[1])\n"
        "Scribe(run_dir, MlflowMirror(run_dir, sys.argv[2], say=print).on_event).sweep()\n"
        "time.sleep(60)\n"
    )
    driver = psutil.Popen([sys.executable, "-c", code, run_dir, sqlite(tmp_path)], cwd=ROOT)
    deadline = time.monotonic() + 30
    while not driver.children():
        assert time.monotonic() < deadline
        time.sleep(0.01)
    (writer,) = driver.children()
    driver.kill()
    driver.wait()
    writer.wait(timeout=10)


def test_by_hand_it_completes_a_run(run_dir: Path, tmp_path: Path) -> None:
    scribe = Scribe(run_dir)
    scribe.sweep()
    scribe.whole(make_trial(0))
    command = [sys.executable, "-m", "orchestrator.tracking.mlflow", str(run_dir)]
    finished = subprocess.run(
        [*command, "--uri", sqlite(tmp_path)], cwd=ROOT, capture_output=True, text=True, check=False
    )
    assert finished.returncode == 0, finished.stderr
    assert finished.stdout.startswith("MLflow has all of the run: ")
    assert_mirrored(sqlite(tmp_path), run_dir)


# -- an MLflow that does not answer


def test_a_server_that_hangs_does_not_hang_the_end(run_dir: Path) -> None:
    said: list[str] = []
    with socket.create_server(("127.0.0.1", 0)) as server:
        uri = f"http://127.0.0.1:{server.getsockname()[1]}"
        tracker = MlflowMirror(run_dir, uri, say=said.append, bound_s=2.0)
        scribe = Scribe(run_dir, tracker.on_event)
        scribe.sweep()
        scribe.whole(make_trial(0))
        began = time.monotonic()
        (line,) = tracker.close(0)
    assert time.monotonic() - began < 4.0
    assert "incomplete" in line
    assert f"--resume {run_dir}" in line


def test_a_server_that_is_away_is_spoken_of_once_and_costs_the_sweep_nothing(
    run_dir: Path, tmp_path: Path
) -> None:
    said: list[str] = []
    with socket.create_server(("127.0.0.1", 0)) as server:
        port = server.getsockname()[1]
    tracker = MlflowMirror(run_dir, f"http://127.0.0.1:{port}", say=said.append, bound_s=1.0)
    scribe = Scribe(run_dir, tracker.on_event)
    scribe.sweep()
    longest_s = 0.0
    deadline = time.monotonic() + 30
    while not said and time.monotonic() < deadline:
        began = time.monotonic()
        tracker.tick()
        longest_s = max(longest_s, time.monotonic() - began)
        time.sleep(0.05)
    scribe.whole(make_trial(0))
    (line,) = tracker.close(0)
    assert len(said) == 1
    assert "The sweep goes on" in said[0]
    assert longest_s < 0.5
    assert "incomplete" in line
    mirror_of(run_dir, sqlite(tmp_path)).finish(0)
    assert_mirrored(sqlite(tmp_path), run_dir)


# -- where it is


@pytest.mark.parametrize(
    ("uri", "part"),
    [
        ("runs/mlflow.db", "is not a URI"),
        ("sqllite:///x.db", "did you mean 'sqlite'?"),
        ("file:///tmp/mlruns", "unknown scheme 'file'"),
    ],
)
def test_a_wrong_uri_is_refused_with_what_is_allowed(uri: str, part: str) -> None:
    with pytest.raises(SweepError) as caught:
        checked_uri(uri)
    assert part in str(caught.value)
    assert uri in str(caught.value)
    assert "sqlite:///FILE" in caught.value.hint


def test_a_relative_database_is_found_from_anywhere(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    assert checked_uri("sqlite:///runs/m.db") == f"sqlite:///{tmp_path}/runs/m.db"
    assert how_to_open(checked_uri("sqlite:///runs/m.db"), "1", "2").endswith(
        "ui --backend-store-uri sqlite:///runs/m.db"
    )
    assert how_to_open("http://host:5000/", "1", "2") == "http://host:5000/#/experiments/1/runs/2"


def test_a_password_is_not_printed() -> None:
    assert without_password("postgresql://me:secret@db/x") == "postgresql://me:***@db/x"
    assert without_password("http://127.0.0.1:5000") == "http://127.0.0.1:5000"
