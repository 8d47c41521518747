"""The run that a command is about."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from orchestrator.analysis.commands.sources import latest_run, loaded, run_directory
from orchestrator.errors import RunDirectoryError


def folder_of_runs(folder: Path, names: list[str]) -> Path:
    """Runs that were started in this order, told by their record alone."""
    for second, name in enumerate(names):
        record = folder / name / "sweep.json"
        record.parent.mkdir(parents=True)
        record.write_text("{}")
        os.utime(record, (second, second))
    return folder


def test_of_a_folder_of_runs_none_is_taken_and_the_latest_is_named(tmp_path: Path) -> None:
    runs = folder_of_runs(tmp_path / "runs", ["b/2", "a/1"])
    for folder, latest in ((runs, "a/1"), (runs / "b", "b/2")):
        with pytest.raises(RunDirectoryError, match="is a folder of runs, not a run") as refused:
            run_directory(str(folder))
        assert refused.value.hint.startswith("the latest of them: ")
        assert refused.value.hint.endswith(f"python -m orchestrator.analysis {runs / latest}")


def test_a_run_directory_is_taken_though_it_holds_another(tmp_path: Path) -> None:
    run = folder_of_runs(tmp_path, ["run", "run/copy"]) / "run"
    assert run_directory(str(run)) == run


def test_what_is_no_folder_is_named(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    with pytest.raises(RunDirectoryError, match="file: is a file, not the folder of a run"):
        run_directory(str(tmp_path / "file"))
    with pytest.raises(RunDirectoryError, match="nowhere: there is no such folder"):
        run_directory("nowhere")
    assert latest_run(tmp_path) is None
    folder_of_runs(tmp_path, ["first"])
    with pytest.raises(RunDirectoryError, match="there is no such folder; did you mean 'first'"):
        run_directory(str(tmp_path / "frist"))


def test_a_run_in_mlflow_is_no_folder(monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[tuple[object, ...]] = []
    monkeypatch.setattr(
        "orchestrator.analysis.tables.load.load_run", lambda *words: asked.append(words)
    )
    loaded("products_loader", "sqlite:///mlflow.db")
    assert asked == [("products_loader", "sqlite:///mlflow.db")]
