"""MLflow has each trial and each point once, whatever interrupted the mirror."""

import itertools
import math
import os
import signal
import time
from pathlib import Path

import pandas as pd
import pytest
from mlflow.tracking import MlflowClient

from orchestrator.kernel.journal import read_journal
from orchestrator.storage.files import RunFile
from orchestrator.storage.history import read_history
from orchestrator.storage.tables import trials_of
from orchestrator.tracking.mlflow.content import PARENT_TAG, SWEEP_TAG, MirroredRun, Point
from orchestrator.tracking.mlflow.mirror import Mirror
from orchestrator.tracking.mlflow.parent import Store
from orchestrator.trial import TrialResult, TrialState
from tests.orchestrator.tracking.in_mlflow import assert_mirrored, runs_of, search, sqlite
from tests.orchestrator.tracking.journals import Scribe, events_of, make_trial


def test_search_runs_gives_the_tables_names_and_figures(
    run_dir: Path, uri: str, scribe: Scribe
) -> None:
    for number, state in enumerate((TrialState.COMPLETED, TrialState.STOPPED, TrialState.FAILED)):
        scribe.whole(make_trial(number), state)
    Mirror(run_dir, uri).finish(0)

    trials = trials_of(read_history(read_journal(run_dir / RunFile.JOURNAL))).set_index("trial_id")
    found = search(uri).set_index("tags.sweep.trial_id").loc[trials.index]
    for name in [n for n in trials.columns if n.startswith("metrics.")]:
        expected = trials[name]
        got = found[name] if name in found else pd.Series(index=trials.index, dtype=float)
        pd.testing.assert_series_equal(got, expected, check_names=False)
    for name in ("params.lr", "params.num_workers", "params.pin_memory", "params.fanouts"):
        assert found[name].tolist() == trials[name].map(str).tolist()
    for name in ("state", "stage", "data", "node", "wall_s", "seed"):
        assert found[f"tags.{name}"].dropna().tolist() == trials[name].dropna().map(str).tolist()
    assert found["tags.bound"].dropna().tolist() == ["loader", "loader"]
    assert found["status"].tolist() == ["FINISHED", "FINISHED", "FAILED"]


def test_a_trial_that_proves_infeasible_is_so_in_mlflow(
    run_dir: Path, uri: str, scribe: Scribe
) -> None:
    trial = scribe.whole(make_trial(0))
    mirror = Mirror(run_dir, uri)
    mirror.catch_up()
    result = TrialResult(state=TrialState.INFEASIBLE, reason="its epoch has 200 samples")
    scribe.record("judged", trial_id=trial.id, result=result)
    mirror.finish(0)
    _, (child,) = runs_of(uri)
    assert (child.data.tags["state"], child.info.status) == ("infeasible", "FAILED")
    assert child.data.tags["reason"] == result.reason


def test_resuming_leaves_one_child_for_each_trial(run_dir: Path, uri: str, scribe: Scribe) -> None:
    scribe.whole(make_trial(0))
    scribe.whole(make_trial(2), TrialState.NOT_RUN)
    cut_short = scribe.asked(make_trial(1))
    scribe.started(cut_short)
    for epoch in (1, 2):
        scribe.reported(cut_short, epoch)
    scribe.ended(130)
    Mirror(run_dir, uri).finish(130)
    (parent,), children = runs_of(uri)
    assert parent.info.status == "KILLED"
    assert sorted(c.info.status for c in children) == ["FINISHED", "KILLED", "KILLED"]

    scribe.resumed()
    resumed = Mirror(run_dir, uri)
    resumed.catch_up()
    (parent,), children = runs_of(uri)
    assert parent.info.status == "RUNNING"
    assert len(children) == 2  # what was cut short is void
    time.sleep(0.002)  # a start in the same millisecond would be the same start
    scribe.started(cut_short)
    scribe.reported(cut_short, 1)
    resumed.catch_up()
    scribe.finished(cut_short)
    scribe.started(make_trial(2))
    scribe.reported(make_trial(2), 1)
    scribe.finished(make_trial(2))
    scribe.ended(0)
    resumed.finish(0)
    assert_mirrored(uri, run_dir)
    assert runs_of(uri)[0][0].info.status == "FINISHED"


def test_killed_before_any_request_and_started_again_it_writes_everything_once(
    run_dir: Path, uri: str, scribe: Scribe
) -> None:
    for number in range(12):
        scribe.whole(make_trial(number))
    scribe.ended()
    for num_requests in (0, 1, 2, 3, 4, 7, 11):
        assert _finish_in_child(run_dir, uri, num_requests) == -signal.SIGKILL
    Mirror(run_dir, uri).finish(0)
    assert_mirrored(uri, run_dir)


def _finish_in_child(run_dir: Path, uri: str, num_requests: int) -> int:
    """Run the mirror in a process that kills itself after some requests; return its status."""
    pid = os.fork()
    if pid == 0:
        _die_after(num_requests)
        Mirror(run_dir, uri).finish(0)
        os._exit(0)
    return os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])


def _die_after(num_requests: int) -> None:
    """Kill this process before the request that follows ``num_requests`` others."""
    requests = itertools.count()
    for name in ("create_run", "log_batch", "set_terminated", "delete_run"):
        original = getattr(MlflowClient, name)

        def mortal(*args: object, _original: object = original, **named: object) -> object:
            if next(requests) == num_requests:
                os.kill(os.getpid(), signal.SIGKILL)
            return _original(*args, **named)

        setattr(MlflowClient, name, mortal)


def test_an_error_at_any_call_is_made_good(
    run_dir: Path, uri: str, scribe: Scribe, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The server loses the answer: it handled the request, but the mirror receives an error."""
    for number in range(3):
        scribe.whole(make_trial(number))
    scribe.ended()
    mirror = Mirror(run_dir, uri)
    num_errors = 0
    for name in ("create_run", "log_batch", "set_terminated"):
        original = getattr(MlflowClient, name)

        def deaf(*args: object, _original: object = original, **named: object) -> object:
            _original(*args, **named)
            raise ConnectionError("no answer")

        with monkeypatch.context() as patch:
            patch.setattr(MlflowClient, name, deaf)
            for _ in range(2):
                try:
                    mirror.catch_up()
                except ConnectionError:
                    num_errors += 1
                    mirror.forget()
    assert num_errors == 6
    mirror.finish(0)
    assert_mirrored(uri, run_dir)


# -- the client: runs found again, points kept once


def connected(folder: Path, experiment: str = "") -> Store:
    """Return the store of a run of the sweep ``loader``."""
    run_dir = folder / "run"
    if not run_dir.exists():
        Scribe(run_dir).sweep()
    run = MirroredRun(run_dir=run_dir, history=read_history(events_of(run_dir)))
    return Store(sqlite(folder), experiment, run)


@pytest.fixture
def store(tmp_path: Path) -> Store:
    return connected(tmp_path)


@pytest.fixture
def client(store: Store, tmp_path: Path) -> MlflowClient:
    return MlflowClient(sqlite(tmp_path))


def create(store: Store, sweep: str, began_ms: int = 1, **tags: str) -> str:
    """Create a run of a sweep; a child where ``tags`` name its parent."""
    return store.create("x", began_ms, {SWEEP_TAG: sweep, **tags})


def test_the_runs_of_a_sweep_are_found_by_its_tag_oldest_first(
    store: Store, client: MlflowClient, tmp_path: Path
) -> None:
    parent = create(store, "a", 1000)
    later = create(store, "a", 3000, **{PARENT_TAG: parent})
    sooner = create(store, "a", 2000, **{PARENT_TAG: parent})
    create(store, "another", 1500)
    deleted = create(store, "a")
    store.client.delete_run(deleted)
    found = connected(tmp_path, "loader").find("a")
    assert [run.info.run_id for run in found] == [parent, sooner, later]
    assert client.get_run(deleted).info.lifecycle_stage == "deleted"
    assert connected(tmp_path, "mine").find("a") == []


def test_a_large_write_may_be_repeated(store: Store, client: MlflowClient) -> None:
    run_id = create(store, "a")
    points = [Point("val_acc", step / 2000, step, step) for step in range(1100)]
    points.append(Point("train_loss", math.nan, 2000, 20))
    texts = {f"p{number}": str(number) for number in range(120)}
    for _ in range(2):
        store.write(run_id, points=points, params=texts, tags=texts)
    assert len(client.get_metric_history(run_id, "val_acc")) == 1100
    assert len(client.get_metric_history(run_id, "train_loss")) == 1
    data = client.get_run(run_id).data
    assert data.params == texts
    assert data.tags["p119"] == "119"


def test_experiment_in_bin_is_restored(store: Store, client: MlflowClient, tmp_path: Path) -> None:
    create(store, "a")
    client.delete_experiment(store.experiment_id)
    again = connected(tmp_path)
    assert again.experiment_id == store.experiment_id
    assert client.get_experiment(store.experiment_id).lifecycle_stage == "active"
    assert len(again.find("a")) == 1
