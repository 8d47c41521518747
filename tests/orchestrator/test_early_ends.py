"""Programs that end before their command line is read."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

from tests.conftest import ROOT

RAISES = "from orchestrator.early_ends import explain_early_ends; explain_early_ends(); "


def ended(folder: Path, *words: str) -> subprocess.CompletedProcess[str]:
    environment = {**os.environ, "PYTHONPATH": str(ROOT)}
    command = [sys.executable, *words]
    return subprocess.run(command, cwd=folder, env=environment, capture_output=True, text=True)


def test_a_program_looks_for_pythons_own_modules_where_they_are(tmp_path: Path) -> None:
    for name in ("random", "logging", "queue", "csv"):
        (tmp_path / f"{name}.py").write_text("raise ImportError")
    done = ended(tmp_path, "-m", "orchestrator", "--version")
    assert (done.returncode, done.stderr) == (0, "")


def test_ctrl_c_ends_in_a_sentence(tmp_path: Path) -> None:
    done = ended(tmp_path, "-c", RAISES + "raise KeyboardInterrupt")
    assert (done.returncode, done.stderr) == (130, "interrupted before anything was started\n")


def test_a_fault_keeps_its_traceback(tmp_path: Path) -> None:
    done = ended(tmp_path, "-c", RAISES + "raise ValueError('own')")
    assert (done.returncode, "Traceback" in done.stderr) == (1, True)
