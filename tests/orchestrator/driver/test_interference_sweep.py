"""Trials beside others that are slower than alone: seen, said, and acted on, through Ray."""

from __future__ import annotations

import json
import os
import signal
import time
from pathlib import Path

import pandas as pd
import pytest

from orchestrator.storage.journal import read_journal
from tests.conftest import RunCli, StartCli

SWEEP = """
import os
import time
from pathlib import Path

from orchestrator import Sweep, Trainable, both, choice, knobs, maximize
from orchestrator.search import Grid

MARKS = Path({marks!r})


@knobs
class Config:
    step_ms: float = both(default=6.0, ge=0, doc="how long a step sleeps")


def runs(mark):
    # and is not stopped in another's turn
    try:
        stat = Path("/proc", mark.name, "stat").read_text()
    except OSError:
        return False
    return stat.rpartition(")")[2].split()[0] not in "TZX"


def train(config, run):
    mark = MARKS / str(os.getpid())
    mark.touch()
    try:
        for epoch in run.epochs():
            for _ in run.batches(range(60), samples=lambda _: 8):
                # As if caches and memory were shared: half as fast beside another trial.
                company = sum(map(runs, MARKS.iterdir())) > 1
                time.sleep(config.step_ms / 1000 * ({slower} if company else 1))
            run.report(val_acc=0.9)
    finally:
        mark.unlink(missing_ok=True)


crowded = Trainable(train, Config, reports=[maximize("val_acc")], name="crowded")

SWEEP = Sweep(
    crowded,
    question="Is a trial as fast beside others as alone?",
    space=Config(step_ms=choice(6.0, 5.0, 4.0, 7.0, 8.0)),
    epochs=8,
    check_isolated=1,
    search=Grid(),
    confirm=0,
    max_repeats=1,
    cores_per_trial=1,
    interleaved={interleaved},
)
"""


needs_two_cores = pytest.mark.skipif(
    len(os.sched_getaffinity(0)) < 2, reason="needs two cores for two at once"
)


@needs_two_cores
@pytest.mark.slow
@pytest.mark.timeout(300)
def test_a_driver_killed_while_company_trains_leaves_nobody_and_goes_on(
    start_cli: StartCli, run_cli: RunCli, tmp_path: Path
) -> None:
    marks, out, file = tmp_path / "marks", tmp_path / "run", tmp_path / "crowded.py"
    marks.mkdir()
    file.write_text(SWEEP.format(marks=str(marks), slower=1.0, interleaved=True))
    driver = start_cli(file, "--out", out, "--no-mlflow")
    deadline = time.monotonic() + 120
    while not _companions(out, "started") and time.monotonic() < deadline:
        assert driver.poll() is None
        time.sleep(0.2)
    time.sleep(2.0)
    driver.send_signal(signal.SIGKILL)
    driver.wait()
    # The guard in conftest fails this test if any process of theirs is left.

    for mark in marks.iterdir():  # who is killed leaves its own
        mark.unlink()
    done = run_cli("--resume", out, "--no-mlflow", timeout_s=200)

    assert done.returncode == 0, done.stderr
    trials = pd.read_parquet(out / "trials.parquet")
    measured = trials[(trials["stage"] == "probe") & (trials["repeat"] <= 3)]
    assert list(measured["state"]) == ["completed"] * 6
    assert len(_companions(out, "finished")) == 3, "one a round, once each"


def _companions(out: Path, event: str) -> list[str]:
    """The companions of a run, as often as this is said of them."""
    path = out / "journal.jsonl"
    events = list(read_journal(path)) if path.exists() else []
    ids = {e["trial"]["id"] for e in events if e["event"] == "asked" and e["trial"]["companion"]}
    return [e["trial_id"] for e in events if e["event"] == event and e["trial_id"] in ids]


@needs_two_cores
@pytest.mark.slow
@pytest.mark.timeout(300)
@pytest.mark.parametrize(("slower", "interleaved"), [(2.0, True), (1.0, False)])
def test_where_company_costs_speed_the_sweep_measures_alone_from_then_on(
    run_cli: RunCli, tmp_path: Path, slower: float, interleaved: bool
) -> None:
    marks, out, file = tmp_path / "marks", tmp_path / "run", tmp_path / "crowded.py"
    marks.mkdir()
    file.write_text(SWEEP.format(marks=str(marks), slower=slower, interleaved=interleaved))

    done = run_cli(file, "--out", out, "--no-mlflow", timeout_s=280)

    assert done.returncode == 0, done.stderr
    trials = pd.read_parquet(out / "trials.parquet")
    notes = [e["text"] for e in read_journal(out / "journal.jsonl") if e["event"] == "note"]
    probes = trials[trials["stage"] == "probe"]
    measured = probes[probes["repeat"] <= 3]
    assert set(measured["state"]) == {"completed"}
    assert measured["isolation"].value_counts().to_dict() == {"exclusive": 3, "leased": 3}
    company = probes[probes["repeat"] > 3]
    assert "stopped" in set(company["state"]), "once what it was for has ended"
    took = measured.get("tags.interleaved", pd.Series("", index=measured.index))
    assert set(took.fillna("")) == ({"true"} if interleaved else {""})
    trained = trials[trials["stage"] == "train"]
    isolated = trained[trained["isolation"] == "exclusive"]
    if slower == 1.0:
        assert isolated.empty
        assert notes == []
        return
    assert any("every trial runs alone from here on" in note for note in notes)
    assert set(isolated["params.step_ms"]) == {4.0, 5.0, 6.0, 7.0, 8.0}
    assert len(trained) > len(isolated)
    report = (out / "report.html").read_text()
    assert "slower than alone" in report
    assert ("1 config both ways in turns" in report) == interleaved
    assert "company beside others" in report
    front = pd.read_csv(out / "front.csv")
    assert set(front["group"]) == {"company alone", "company beside others"}
    recommended = json.loads((out / "recommended.json").read_text())
    assert recommended["config"]["step_ms"] == 4.0, "the fastest of those alone"
    assert recommended["beside_others"]["ratio_to_alone"] == pytest.approx(0.5, abs=0.05)
