from contextlib import suppress
from pathlib import Path

import pytest

from orchestrator.analysis.tables.load import write_tables
from orchestrator.kernel.events import Event, Started
from orchestrator.tracking.mlflow import MlflowMirror
from tests.helping import awaited
from tests.orchestrator.tracking.in_mlflow import assert_mirrored, runs_of
from tests.orchestrator.tracking.journals import Scribe, make_trial
from tests.orchestrator.tracking.serving import free_port, serving

pytestmark = [pytest.mark.slow, pytest.mark.timeout(300)]


def test_a_server_killed_midway_gets_everything_once_when_it_is_back(tmp_path: Path) -> None:
    messages: list[str] = []
    port, run_dir = free_port(), tmp_path / "run"
    store = ["--backend-store-uri", f"sqlite:///{tmp_path / 'server.db'}"]
    store += ["--artifacts-destination", str(tmp_path / "artifacts")]
    with serving(tmp_path, port, *store) as uri:
        tracker = MlflowMirror(run_dir, uri, say=messages.append, bound_s=120.0)

        def follow(event: Event) -> None:
            # It would take its time from the first trial on: see test_priority.py.
            if not isinstance(event, Started):
                tracker.apply(event)

        scribe = Scribe(run_dir, follow).sweep()
        for number in range(2):
            scribe.whole(make_trial(number))
        half_done = scribe.asked(make_trial(2))
        scribe.started(half_done)
        scribe.reported(half_done, 1)
        awaited(lambda: tracker.tick() or _has_three(uri), "three trials", within_s=120)
    scribe.reported(half_done, 2)
    scribe.reported(half_done, 3)
    scribe.finished(half_done)
    awaited(lambda: tracker.tick() or messages, "a message", within_s=120)
    for number in range(3, 5):
        scribe.whole(make_trial(number))
        tracker.tick()
    scribe.ended()
    write_tables(run_dir)
    with serving(tmp_path, port, *store):
        lines = tracker.close(0)
        assert len(messages) == 1
        assert lines[0].startswith(f"MLflow:      {uri}/#/experiments/")
        assert_mirrored(uri, run_dir)
        (parent,), _ = runs_of(uri)
        assert parent.info.status == "FINISHED"
        assert lines[0].endswith(f"{parent.info.run_id}?workflowType=machine_learning")


def _has_three(uri: str) -> bool:
    with suppress(AssertionError):  # the experiment is not there yet
        return len(runs_of(uri)[1]) == 3
    return False
