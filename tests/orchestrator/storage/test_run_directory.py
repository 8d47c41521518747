from __future__ import annotations

import os
from pathlib import Path

import pytest

from orchestrator.errors import RunDirectoryError
from orchestrator.storage.run_directory import RunDirectory, require_new


def test_a_second_driver_is_refused_until_the_first_has_gone(tmp_path: Path) -> None:
    first = RunDirectory(tmp_path / "run")
    with pytest.raises(RunDirectoryError, match=f"another driver .process {os.getpid()}"):
        RunDirectory(tmp_path / "run")
    first.release()
    RunDirectory(tmp_path / "run").release()


def test_a_folder_that_cannot_be_made_is_refused(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    with pytest.raises(RunDirectoryError, match="cannot be written"):
        RunDirectory(tmp_path / "file" / "run")


def test_a_folder_with_a_run_is_not_run_over(tmp_path: Path) -> None:
    require_new(tmp_path)
    (tmp_path / "journal.jsonl").touch()
    with pytest.raises(RunDirectoryError, match="holds a run already"):
        require_new(tmp_path)


def test_a_folder_made_for_a_run_that_never_began_is_removed(tmp_path: Path) -> None:
    (tmp_path / "runs").mkdir()
    RunDirectory(tmp_path / "runs" / "speed" / "run").release()
    assert list(tmp_path.rglob("*")) == [tmp_path / "runs"]


def test_a_folder_that_was_there_or_has_a_journal_is_kept(tmp_path: Path) -> None:
    (tmp_path / "there").mkdir()
    RunDirectory(tmp_path / "there").release()
    assert (tmp_path / "there").is_dir()
    begun = RunDirectory(tmp_path / "begun")
    begun.journal.write_text("{}\n")
    begun.release()
    assert begun.journal.exists()
