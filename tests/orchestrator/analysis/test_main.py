"""``python -m orchestrator.analysis``, in this process but where the program itself is shown."""

from __future__ import annotations

import shlex
import subprocess
import sys
from pathlib import Path

import pytest

from orchestrator.analysis.__main__ import main
from tests.conftest import ROOT, RunCli
from tests.helping import check_help


def test_a_run_is_written_again_and_printed(run_cli: RunCli, run_dir: Path) -> None:
    done = run_cli(run_dir, module="orchestrator.analysis", env={"COLUMNS": None})
    assert (done.returncode, done.stderr) == (0, "")
    assert "products_loader: the front" in done.stdout
    assert "lr=0.01 batch_size=4000 num_workers=8" in done.stdout
    assert (run_dir / "report.html").is_file()


def test_a_directory_that_cannot_be_written_is_named(
    capsys: pytest.CaptureFixture[str], run_dir: Path
) -> None:
    (run_dir / "front.csv").mkdir()  # root may write anywhere: stand in its way instead
    assert main([str(run_dir)]) == 2
    said = f"error: {run_dir}/front.csv: cannot be used: Is a directory\n  give another folder by"
    assert capsys.readouterr().err.startswith(f"{said} --out DIR\n")
    assert not list(run_dir.glob(".*.tmp"))


def test_a_document_that_cannot_be_written_is_an_error_and_a_reader_that_left_is_none(
    run_dir: Path,
) -> None:
    words = [sys.executable, "-m", "orchestrator.analysis", "front", run_dir]

    def ran(rest: str) -> tuple[int, str]:
        command = f"set -o pipefail; {shlex.join(map(str, words))} {rest}"
        done = subprocess.run(
            ["/bin/bash", "-c", command], capture_output=True, text=True, check=False
        )
        return done.returncode, done.stderr

    said = "error: --json: the document cannot be written: No space left on device\n"
    assert ran("--json >/dev/full") == (2, said)
    assert ran("--json | true") == (0, "")
    assert ran(">/dev/full") == (0, ""), "lines for a person"


def test_help_needs_no_second() -> None:
    check_help("analysis", says="RUN_DIR")


def test_the_short_name_of_a_checkout_is_the_package_and_the_command() -> None:
    code = "import analysis as an, orchestrator.analysis as its; assert an.load is its.load"
    subprocess.run([sys.executable, "-c", code], cwd=ROOT, check=True)
    words = [sys.executable, "-m", "analysis", "--help"]
    shown = subprocess.run(words, cwd=ROOT, check=True, capture_output=True, text=True).stdout
    assert shown.startswith("usage: python -m orchestrator.analysis")
