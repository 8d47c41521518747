from __future__ import annotations

import json
import os
import re
import shutil
import socket
from collections.abc import Iterator
from pathlib import Path

import pandas as pd
import pytest

import orchestrator.analysis as an
from orchestrator.analysis.tables.load import load_run
from orchestrator.analysis.tables.run_tables import with_run_intervals
from orchestrator.errors import RunDirectoryError, SweepError
from orchestrator.kernel.journal import Journal
from orchestrator.storage.tables import write_candidates, write_tables
from orchestrator.trial import Budget, Report, Stage, Trial, TrialResult, TrialState
from tests.orchestrator.analysis.made_runs import config, content_of, factored_run, sweep_json
from tests.orchestrator.helpers.journalled import append


@pytest.fixture(scope="module")
def written(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[Path, str]]:
    """A run directory with a journal and tables, and the MLflow database that mirrors it."""
    folder = tmp_path_factory.mktemp("mirrored")
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("MLFLOW_DISABLE_TELEMETRY", "true")
        patch.chdir(folder)
        yield _written(folder)


@pytest.fixture
def mirrored(written: tuple[Path, str], tmp_path: Path) -> tuple[Path, str]:
    """The same for one test: its own copy of both."""
    run_dir, uri = written
    shutil.copytree(run_dir, tmp_path / "run")
    shutil.copy(uri.removeprefix("sqlite:///"), tmp_path / "mlflow.db")
    return tmp_path / "run", f"sqlite:///{tmp_path / 'mlflow.db'}"


def _written(tmp_path: Path) -> tuple[Path, str]:
    from orchestrator.tracking.mlflow.mirror import Mirror

    run_dir = tmp_path / "run"
    run_dir.mkdir()
    sweep = sweep_json()
    (run_dir / "sweep.json").write_text(json.dumps(sweep))
    journal = Journal(run_dir / "journal.jsonl")
    append(journal, "sweep", sweep=sweep)
    for trial, result in _journalled():
        append(journal, "asked", trial=trial.to_json())
        if result.started_at is not None:
            append(journal, "started", trial_id=trial.id, node="node-a", cores=4)
            report = Report(
                step=20, epoch=1, samples=20_000, elapsed_s=2.5, metrics={"val_acc": 0.7}
            )
            append(journal, "report", trial_id=trial.id, report=report.to_json())
        append(journal, "finished", trial_id=trial.id, result=result.to_json())
    journal.close()
    write_tables(run_dir, complete=with_run_intervals)
    uri = f"sqlite:///{tmp_path / 'mlflow.db'}"
    Mirror(run_dir, uri, "products_loader").finish(0)
    return run_dir, uri


def _journalled() -> list[tuple[Trial, TrialResult]]:
    """Trials of every state and type of knob."""
    ran = {"started_at": 1.79e9, "wall_s": 9.25, "node": "node-a", "device": "cpu", "cores": 4}
    figures = {"samples_per_s": 6137.119971, "val_acc": 0.9150412345678901, "own_figure": 3.0}
    fates = [
        TrialResult(
            state=TrialState.COMPLETED, metrics=figures, tags={"bound": "loader"},
            isolation="leased", **ran,
        ),
        TrialResult(state=TrialState.FAILED, reason="ValueError: no\n  line 2", **ran,
                    metrics={"val_acc": 0.7}),
        TrialResult(state=TrialState.INFEASIBLE, reason="needs 2 GPUs"),
        TrialResult(state=TrialState.NOT_RUN, reason="the time budget ended"),
    ]  # fmt: skip
    return [
        (
            Trial(
                id=f"trial{index}",
                stage=Stage.TRAIN,
                config=config(num_workers=index, fanouts=(5, index), persistent_workers=index > 1),
                budget=Budget(epochs=3),
                seed=index,
                repeat=0,
            ),
            result,
        )
        for index, result in enumerate(fates)
    ]


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
    assert content_of(found) == content_of(expected)

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

    run_dir, _ = mirrored
    run = factored_run()
    write_candidates(run_dir, run.candidates)
    uri = f"sqlite:///{tmp_path / 'second.db'}"
    mirror = Mirror(run_dir, uri, "products_loader")
    mirror.finish(0)
    here, there = load_run(run_dir), load_run("products_loader", uri)
    assert here.is_composed
    pd.testing.assert_frame_equal(there.candidates, here.candidates)
    assert there.roles == here.roles
    from mlflow.tracking import MlflowClient

    tags = MlflowClient(uri).get_run(mirror.ids[1]).data.tags
    assert tags["sweep.composed"].startswith("front and recommendation are composed")
    assert "composed.csv" in tags["mlflow.note.content"]


def test_an_experiment_that_holds_runs_of_others_gives_the_sweep_alone(
    mirrored: tuple[Path, str],
) -> None:
    run_dir, uri = mirrored
    from mlflow.tracking import MlflowClient

    client = MlflowClient(uri)
    own = client.get_experiment_by_name("products_loader")
    assert own is not None
    foreign = client.create_run(own.experiment_id, tags={"mlflow.runName": "somebody's"})
    client.log_metric(foreign.info.run_id, "val_acc", 0.99)
    pd.testing.assert_frame_equal(load_run("products_loader", uri).trials, load_run(run_dir).trials)
    other = client.create_experiment("theirs")
    client.create_run(other)
    with pytest.raises(RunDirectoryError, match="'theirs' holds no sweep: its runs"):
        load_run("theirs", uri)
    with pytest.raises(RunDirectoryError, match="no sweep wrote it"):
        load_run(foreign.info.run_id, uri)
