from __future__ import annotations

import os
import re
import shutil
import socket
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

import orchestrator.analysis as an
from orchestrator.analysis.tables.load import load_run
from orchestrator.errors import RunDirectoryError, SweepError
from orchestrator.storage.files import RunFile
from orchestrator.storage.tables import write_candidates
from tests.orchestrator.analysis.made_runs import MadeRun, config, content_of, factored_run
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


# -- MLflow


@pytest.fixture(scope="module")
def written(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[Path, str]]:
    """A run directory with a journal and tables, and the MLflow database that mirrors it."""
    folder = tmp_path_factory.mktemp("mirrored")
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("MLFLOW_DISABLE_TELEMETRY", "true")
        patch.chdir(folder)
        from orchestrator.tracking.mlflow.mirror import Mirror
        from tests.orchestrator.tracking.in_mlflow import sqlite

        made = MadeRun()
        made.add(config(fanouts=(5, 10)), **{"metrics.own_figure": 3.0})
        made.add(
            config(num_workers=3), state="failed", reason="ValueError: no\n  line 2", wall_s=1.2
        )
        made.add(config(ranks=2), state="infeasible", reason="needs 2 GPUs")
        made.add(config(num_workers=6), state="not_run", reason="the time budget ended")
        run_dir = write_run(made, folder / "run")
        uri = sqlite(folder)
        Mirror(run_dir, uri, "products_loader").finish(0)
        yield run_dir, uri


@pytest.fixture
def mirrored(written: tuple[Path, str], tmp_path: Path) -> tuple[Path, str]:
    """The same for one test: its own copy of both."""
    run_dir, uri = written
    shutil.copytree(run_dir, tmp_path / "run")
    shutil.copy(uri.removeprefix("sqlite:///"), tmp_path / "mlflow.db")
    return tmp_path / "run", f"sqlite:///{tmp_path / 'mlflow.db'}"


@pytest.mark.slow
def test_mlflow_gives_the_same_frame_types_included(mirrored: tuple[Path, str]) -> None:
    run_dir, uri = mirrored
    expected = load_run(run_dir)
    found = load_run("products_loader", uri)
    pd.testing.assert_frame_equal(found.trials, expected.trials)
    assert found.trials.loc[1, "reason"] == "ValueError: no\n  line 2"
    assert found.trials.loc[0, "tags.bound"] == "loader"
    assert found.sweep == expected.sweep
    pd.testing.assert_frame_equal(found.curves, expected.curves)
    pd.testing.assert_frame_equal(found.steps, expected.steps)
    pd.testing.assert_frame_equal(an.configs(found), an.configs(expected))
    pd.testing.assert_frame_equal(an.describe(found), an.describe(expected))
    assert content_of(found) == {**content_of(expected), "run": ""}, "its journal is not there"

    from mlflow.tracking import MlflowClient

    runs = MlflowClient(uri).search_runs(["1"])
    parents = [run.info.run_id for run in runs if "mlflow.parentRunId" not in run.data.tags]
    children = [run.info.run_id for run in runs if "mlflow.parentRunId" in run.data.tags]
    pd.testing.assert_frame_equal(load_run(parents[0], uri).trials, found.trials)
    with pytest.raises(RunDirectoryError, match=f"is not the parent run.*\n.*{parents[0]}"):
        load_run(children[0], uri)
    with pytest.raises(RunDirectoryError, match="'product_loader'; did you mean 'products_loader'"):
        load_run("product_loader", uri)


def refusal_of(uri: str) -> str:
    with pytest.raises(SweepError) as refused:
        load_run("products_loader", uri)
    return str(refused.value)


def test_an_mlflow_that_is_not_there_is_not_made(tmp_path: Path) -> None:
    assert "none.db: does not exist" in refusal_of(f"sqlite:///{tmp_path / 'none.db'}")
    assert not (tmp_path / "none.db").exists()
    assert "is not a URI" in refusal_of("somewhere")
    text = tmp_path / "notes.db"
    text.write_text("not a database " * 500)
    assert "file is not a database" in refusal_of(f"sqlite:///{text}")


def test_a_server_that_is_not_there_is_asked_once(monkeypatch: pytest.MonkeyPatch) -> None:
    with socket.create_server(("127.0.0.1", 0)) as server:
        port = server.getsockname()[1]
    monkeypatch.setenv("MLFLOW_HTTP_REQUEST_MAX_RETRIES", "7")
    assert re.search(
        rf"127.0.0.1:{port}: .*refused.*\n  is it", refusal_of(f"http://127.0.0.1:{port}")
    )
    assert os.environ["MLFLOW_HTTP_REQUEST_MAX_RETRIES"] == "7"
    assert "MLFLOW_HTTP_REQUEST_TIMEOUT" not in os.environ


def test_a_server_that_does_not_answer_is_not_waited_for(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("MLFLOW_HTTP_REQUEST_TIMEOUT", "1")
    with socket.create_server(("127.0.0.1", 0)) as server:
        assert "Read timed out" in refusal_of(f"http://127.0.0.1:{server.getsockname()[1]}")


def test_a_factored_sweep_is_composed_from_mlflow_as_from_its_directory(
    mirrored: tuple[Path, str], tmp_path: Path
) -> None:
    from orchestrator.tracking.mlflow.mirror import Mirror
    from tests.orchestrator.tracking.in_mlflow import sqlite

    run_dir, _ = mirrored
    run = factored_run()
    write_candidates(run_dir, run.candidates)
    second = tmp_path / "second"
    second.mkdir()
    uri = sqlite(second)
    Mirror(run_dir, uri, "products_loader").finish(0)
    here, there = load_run(run_dir), load_run("products_loader", uri)
    assert here.is_composed
    pd.testing.assert_frame_equal(there.candidates, here.candidates)
    assert there.roles == here.roles


def test_an_experiment_that_holds_runs_of_others_gives_the_sweep_alone(
    mirrored: tuple[Path, str],
) -> None:
    run_dir, uri = mirrored
    from mlflow.tracking import MlflowClient

    client = MlflowClient(uri)
    own = client.get_experiment_by_name("products_loader")
    foreign = client.create_run(own.experiment_id, tags={"mlflow.runName": "somebody's"})
    client.log_metric(foreign.info.run_id, "val_acc", 0.99)
    pd.testing.assert_frame_equal(load_run("products_loader", uri).trials, load_run(run_dir).trials)
    other = client.create_experiment("theirs")
    client.create_run(other)
    with pytest.raises(RunDirectoryError, match="'theirs' holds no sweep: its runs"):
        load_run("theirs", uri)
    with pytest.raises(RunDirectoryError, match="no sweep wrote it"):
        load_run(foreign.info.run_id, uri)
