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
