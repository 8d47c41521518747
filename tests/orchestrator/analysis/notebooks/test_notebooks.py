"""The notebooks, each run on a recorded run: from its directory, and from MLflow."""

from __future__ import annotations

import runpy
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pandas as pd
import pytest

from tests.conftest import ROOT

NOTEBOOKS = ROOT / "analysis" / "notebooks"
RECORDED = NOTEBOOKS / "recorded"
FILES = sorted(NOTEBOOKS.glob("[0-9]*.py"))


@pytest.fixture(scope="module")
def mirrored(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[str, dict[str, str]]]:
    """An MLflow database of all recorded runs, and the parent run's id of each."""
    from mlflow import MlflowClient

    from orchestrator.tracking.mlflow.mirror import Mirror

    folder = tmp_path_factory.mktemp("mlflow")
    uri = f"sqlite:///{folder / 'mlflow.db'}"
    parents: dict[str, str] = {}
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("MLFLOW_DISABLE_TELEMETRY", "true")
        for run_dir in sorted(RECORDED.iterdir()):
            Mirror(run_dir, uri, run_dir.name).finish(0)
            client = MlflowClient(uri)
            experiment = client.get_experiment_by_name(run_dir.name)
            runs = client.search_runs([experiment.experiment_id])
            [parent] = [run for run in runs if "mlflow.parentRunId" not in run.data.tags]
            parents[run_dir.name] = parent.info.run_id
        yield uri, parents


def result_of(notebook: Path, patch: pytest.MonkeyPatch, **variables: str) -> pd.DataFrame:
    """The frame ``result`` of a notebook that is run with these variables."""
    for name in ("RUN", "OLDER", "TRACKING_URI"):
        patch.delenv(name, raising=False)
    for name, value in variables.items():
        patch.setenv(name, value)
    patch.chdir(ROOT)
    left: dict[str, Any] = runpy.run_path(str(notebook))
    return left["result"]


def asked_of(notebook: Path) -> str:
    """The sweep that a notebook is about."""
    name = notebook.stem.partition("_")[2]
    return name if (RECORDED / name).exists() else "products_loader"


@pytest.mark.parametrize("notebook", FILES, ids=lambda path: path.stem)
def test_a_notebook_ends_in_a_sentence(
    notebook: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    assert len(result_of(notebook, monkeypatch))
    last = capsys.readouterr().out.strip().splitlines()[-1]
    assert len(last.split()) > 8
    assert "nan" not in last.lower()


@pytest.mark.slow
@pytest.mark.parametrize("notebook", FILES, ids=lambda path: path.stem)
def test_a_notebook_finds_the_same_in_both_sources(
    notebook: Path,
    mirrored: tuple[str, dict[str, str]],
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    from_disk = result_of(notebook, monkeypatch)
    said = capsys.readouterr().out
    uri, parents = mirrored
    sources = {"RUN": parents[asked_of(notebook)], "OLDER": parents["products_loader_before"]}
    from_mlflow = result_of(notebook, monkeypatch, TRACKING_URI=uri, **sources)
    pd.testing.assert_frame_equal(from_disk, from_mlflow)
    assert capsys.readouterr().out == said


def test_there_are_seven() -> None:
    assert len(FILES) == 7


@pytest.mark.parametrize("run_dir", sorted(RECORDED.iterdir()), ids=lambda path: path.name)
def test_a_recorded_run_names_no_folder_of_its_machine(run_dir: Path) -> None:
    for name in ("sweep.json", "journal.jsonl"):
        text = (run_dir / name).read_text()
        assert not any(f'"{root}' in text for root in ("/home", "/root", "/work", "/tmp"))
