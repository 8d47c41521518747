"""``python -m orchestrator.analysis``, in this process but where the program itself is shown."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from orchestrator.analysis.__main__ import main
from tests.conftest import RunCli
from tests.helping import check_help

FORMAT_1 = Path(__file__).parents[2] / "fixtures" / "run_format_1"


def test_a_run_is_written_again_and_printed(run_cli: RunCli, run_dir: Path) -> None:
    done = run_cli(run_dir, module="orchestrator.analysis", env={"COLUMNS": None})
    assert (done.returncode, done.stderr) == (0, "")
    assert "products_loader: the front" in done.stdout
    assert "lr=0.01 batch_size=4000 num_workers=8" in done.stdout
    assert (run_dir / "report.html").is_file()


def test_a_run_of_the_format_before_is_opened(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    run_dir = tmp_path / "run"
    shutil.copytree(FORMAT_1, run_dir)
    assert main([str(run_dir)]) == 0
    assert "lr 0.002" in capsys.readouterr().out.splitlines()[0]
    assert (run_dir / "report.html").is_file()


def test_without_anything_to_do_it_says_what_to_type(
    run_dir: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(run_dir.parent)
    assert main([]) == 2
    assert "python -m orchestrator.analysis runs/SWEEP/TIME" in capsys.readouterr().err
    shutil.copytree(run_dir, "runs/products_loader/2026-11-26")
    assert main([]) == 2
    hint = capsys.readouterr().err.splitlines()[1]
    assert hint.startswith("  the latest run: ")
    assert hint.endswith("python -m orchestrator.analysis runs/products_loader/2026-11-26")


def test_a_directory_that_does_not_exist_is_refused(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["nowhere"]) == 2
    assert capsys.readouterr().err.startswith("error: nowhere: ")


def test_a_directory_that_cannot_be_written_is_named(
    capsys: pytest.CaptureFixture[str], run_dir: Path
) -> None:
    (run_dir / ".front.csv.tmp").mkdir()  # root may write anywhere: stand in its way instead
    assert main([str(run_dir)]) == 2
    assert "front.csv.tmp: cannot be used: Is a directory" in capsys.readouterr().err


def test_help_needs_no_second() -> None:
    check_help("analysis", says="RUN_DIR")
