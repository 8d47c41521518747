"""The writer's program, run by hand."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

from tests.conftest import ROOT
from tests.orchestrator.tracking.in_mlflow import (
    assert_mirrored,
    sqlite,
)
from tests.orchestrator.tracking.journals import Scribe, make_trial


def written(tmp_path: Path, run_dir: Path) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "orchestrator.tracking.mlflow", str(run_dir)]
    command += ["--uri", sqlite(tmp_path)]
    return subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)


def test_by_hand_it_completes_a_run(run_dir: Path, tmp_path: Path) -> None:
    scribe = Scribe(run_dir)
    scribe.sweep()
    scribe.whole(make_trial(0))
    refused = written(tmp_path, run_dir.with_name("no run"))
    assert refused.returncode == 2
    assert refused.stderr.startswith("error: ")
    assert "is not a run directory (no journal.jsonl)" in refused.stderr
    finished = written(tmp_path, run_dir)
    assert finished.returncode == 0, finished.stderr
    assert finished.stdout.startswith("MLflow has all of the run: ")
    assert_mirrored(sqlite(tmp_path), run_dir)
