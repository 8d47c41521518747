"""The runs in MLflow, read through its own client, and the runs that should be there."""

import tempfile
from functools import cache
from pathlib import Path

import pandas as pd
from mlflow.entities import Run
from mlflow.tracking import MlflowClient

from tests.orchestrator.helpers.journalled import lines_of
from tests.orchestrator.tracking.journals import histories


@cache
def _empty_database() -> bytes:
    """Content of a new database: MLflow takes a second for its tables."""
    with tempfile.TemporaryDirectory() as folder:
        MlflowClient(f"sqlite:///{folder}/mlflow.db").search_experiments()
        return Path(folder, "mlflow.db").read_bytes()


def sqlite(folder: Path) -> str:
    """Return the URI of a database in ``folder``, which is made where it is absent."""
    file = folder / "mlflow.db"
    if folder.is_dir() and not file.exists():
        file.write_bytes(_empty_database())
    return f"sqlite:///{file}"


def runs_of(uri: str) -> tuple[list[Run], list[Run]]:
    """Return the parents and children of the only experiment that has any."""
    client = MlflowClient(uri)
    experiment = client.get_experiment_by_name("loader")
    assert experiment is not None, "it is not there yet"
    runs = client.search_runs([experiment.experiment_id], max_results=5000)
    parents = [run for run in runs if "mlflow.parentRunId" not in run.data.tags]
    return parents, [run for run in runs if run not in parents]


def assert_mirrored(uri: str, run_dir: Path) -> None:
    """Check for one parent, one child a finished trial, and every point of the journal once."""
    client = MlflowClient(uri)
    parents, children = runs_of(uri)
    assert len(parents) == 1
    expected = histories(run_dir)
    ids = [child.data.tags["sweep.trial_id"] for child in children]
    assert sorted(ids) == sorted(expected)
    finished = {
        e["trial_id"]: e for e in lines_of(run_dir / "journal.jsonl") if e["event"] == "finished"
    }
    for id_, child in zip(ids, children, strict=True):
        assert child.data.tags["mlflow.parentRunId"] == parents[0].info.run_id
        assert child.data.tags["state"] == finished[id_]["result"]["state"]
        assert child.info.end_time == round(finished[id_]["at"] * 1000)
        assert len(child.data.params) == 5
        written = {
            name: [(p.step, p.value) for p in client.get_metric_history(child.info.run_id, name)]
            for name in child.data.metrics
        }
        assert written == expected[id_], id_


def search(uri: str) -> pd.DataFrame:
    """Return the children as ``mlflow.search_runs`` returns them."""
    import mlflow

    mlflow.set_tracking_uri(uri)
    try:
        frame = mlflow.search_runs(experiment_names=["loader"])
    finally:
        mlflow.set_tracking_uri(None)  # not the default: it would be a variable of later drivers
    return frame[frame["tags.mlflow.parentRunId"].notna()].reset_index(drop=True)
