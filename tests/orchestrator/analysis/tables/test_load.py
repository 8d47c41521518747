from pathlib import Path

import numpy as np
import pandas as pd
import pytest

import orchestrator.analysis as an
from orchestrator.analysis.tables.load import load_run
from orchestrator.errors import RunDirectoryError
from orchestrator.storage.files import RunFile
from orchestrator.storage.tables import write_candidates
from tests.orchestrator.analysis.made_runs import MadeRun, content_of, factored_run
from tests.orchestrator.tracking.made_journal import write_run


def test_a_directory_gives_the_tables_as_they_were_written(made: MadeRun, run_dir: Path) -> None:
    tables = load_run(str(run_dir))
    pd.testing.assert_frame_equal(tables.trials, made.trials)
    assert tables.sweep == made.record
    assert len(tables.curves) == len(made.curves)
    assert tables.steps["dropped"].tolist()[0] == "warm_up"
    assert tables.steps["dropped"].isna().tolist() == [False, True]


def test_a_directory_without_step_times_is_opened(run_dir: Path) -> None:
    (run_dir / "steps.parquet").unlink()
    assert load_run(run_dir).steps.empty


@pytest.mark.parametrize("name", ["trials.parquet", "curves.parquet", "sweep.json"])
def test_a_missing_file_is_named(run_dir: Path, name: str) -> None:
    (run_dir / name).unlink()
    with pytest.raises(RunDirectoryError, match=f"{run_dir}.* has no {name}") as refused:
        load_run(run_dir)
    assert name == "sweep.json" or f"--resume {run_dir}" in refused.value.hint


@pytest.mark.parametrize("name", [RunFile.TRIALS, RunFile.CURVES, RunFile.STEP_TIMES])
def test_a_truncated_table_is_refused(run_dir: Path, name: RunFile) -> None:
    path = run_dir / name
    path.write_bytes(path.read_bytes()[:-99])
    with pytest.raises(RunDirectoryError, match=rf"{name}: cannot be read as a table: .+"):
        load_run(run_dir)


def test_what_is_too_large_is_refused_before_it_is_read(run_dir: Path) -> None:
    many = pd.DataFrame({f"metrics.{number}": np.zeros(10**6, "int8") for number in range(60)})
    many.to_parquet(run_dir / RunFile.CURVES)
    with pytest.raises(RunDirectoryError, match="it has 1,000,000 rows of 60 columns"):
        load_run(run_dir)
    with (run_dir / RunFile.SWEEP).open("a") as file:
        file.truncate(200 * 2**20)
    with pytest.raises(RunDirectoryError, match="it has 209,715,200 bytes"):
        load_run(run_dir)


@pytest.mark.parametrize("name", ["", "a\0b", "x" * 5000])
def test_no_name_of_a_folder_is_one_message(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str
) -> None:
    monkeypatch.chdir(tmp_path)
    with pytest.raises(RunDirectoryError):
        load_run(name)


@pytest.mark.slow
def test_what_mlflow_has_of_a_run_is_opened_as_its_directory(
    made: MadeRun, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("MLFLOW_DISABLE_TELEMETRY", "true")
    monkeypatch.chdir(tmp_path)
    from mlflow.artifacts import download_artifacts
    from mlflow.tracking import MlflowClient

    from orchestrator.tracking.mlflow.mirror import Mirror
    from tests.orchestrator.tracking.in_mlflow import sqlite

    run_dir, uri = write_run(made, tmp_path / "run"), sqlite(tmp_path)
    write_candidates(run_dir, factored_run().candidates)
    Mirror(run_dir, uri, "products_loader").finish(0)
    runs = MlflowClient(uri).search_runs(["1"])
    [parent] = [run.info.run_id for run in runs if "mlflow.parentRunId" not in run.data.tags]
    there = download_artifacts(run_id=parent, dst_path=str(tmp_path / "there"), tracking_uri=uri)
    here, found = load_run(run_dir), load_run(there)
    assert here.is_composed
    assert found.sweep == here.sweep
    for name in ("trials", "curves", "steps", "candidates"):
        pd.testing.assert_frame_equal(getattr(found, name), getattr(here, name))
    pd.testing.assert_frame_equal(an.configs(found), an.configs(here))
    assert content_of(found) == {**content_of(here), "run": ""}, "its journal is not there"
