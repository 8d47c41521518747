"""The writer's program, run by hand."""

from __future__ import annotations

import fcntl
import json
import subprocess
import sys
from pathlib import Path

from tests.conftest import ROOT
from tests.orchestrator.tracking.in_mlflow import assert_mirrored, sqlite
from tests.orchestrator.tracking.journals import Scribe, make_record, make_trial


def command(tmp_path: Path, run_dir: Path) -> list[str]:
    words = [sys.executable, "-m", "orchestrator.tracking.mlflow", str(run_dir)]
    return [*words, "--uri", sqlite(tmp_path)]


def written(tmp_path: Path, run_dir: Path) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        command(tmp_path, run_dir), cwd=ROOT, capture_output=True, text=True, check=False
    )


def test_by_hand_it_completes_a_run(run_dir: Path, tmp_path: Path) -> None:
    scribe = Scribe(run_dir)
    scribe.sweep()
    scribe.whole(make_trial(0))
    (run_dir / "sweep.json").write_text(json.dumps(make_record().to_json()))
    refused = written(tmp_path, run_dir.with_name("no run"))
    assert refused.returncode == 2
    assert refused.stderr.startswith("error: ")
    assert "is not a run directory" in refused.stderr
    finished = written(tmp_path, run_dir)
    assert finished.returncode == 0, finished.stderr
    assert finished.stdout.startswith("MLflow has all of the run: ")
    assert_mirrored(sqlite(tmp_path), run_dir)


def test_it_says_that_it_waits_for_another_writer(run_dir: Path, tmp_path: Path) -> None:
    Scribe(run_dir).sweep()
    (run_dir / "sweep.json").write_text(json.dumps(make_record().to_json()))
    with (run_dir / ".mlflow.lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        with subprocess.Popen(
            command(tmp_path, run_dir), cwd=ROOT, stderr=subprocess.PIPE, text=True
        ) as waiting:
            assert waiting.stderr is not None
            said = waiting.stderr.readline()
            waiting.kill()
    assert said.startswith(f"{run_dir}: waiting for another process that writes it to MLflow")
