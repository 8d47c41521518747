"""A trial's params, points and tags as MLflow gets them."""

from __future__ import annotations

from pathlib import Path

import pytest

from orchestrator.storage.history import TrialHistory, read_history
from orchestrator.tracking.mlflow.content import (
    Status,
    parent_status,
    parent_tags,
    points,
    tags,
)
from orchestrator.trial import TrialState
from tests.orchestrator.tracking.journals import Scribe, events_of, make_trial


@pytest.fixture
def scribe(tmp_path: Path) -> Scribe:
    scribe = Scribe(tmp_path / "run")
    scribe.sweep()
    return scribe


def trial_of(scribe: Scribe) -> TrialHistory:
    (trial,) = read_history(events_of(scribe.run_dir)).trials.values()
    return trial


def test_a_trial_that_runs_has_only_tags_that_cannot_change(scribe: Scribe) -> None:
    scribe.started(scribe.asked(make_trial(0)))
    assert {"stage", "seed", "data"} <= tags(trial_of(scribe)).keys()
    assert not {"state", "reason", "bound"} & tags(trial_of(scribe)).keys()
    scribe.finished(make_trial(0))
    assert tags(trial_of(scribe))["state"] == "completed"


def test_points_that_are_known_are_not_given_again(scribe: Scribe) -> None:
    scribe.whole(make_trial(0))
    trial = trial_of(scribe)
    every = points(trial)
    assert {point.step for point in points(trial, 2)} == {300}
    assert len(every) == len(set(every)), "none twice"


def test_figures_of_the_result_come_last(scribe: Scribe) -> None:
    scribe.whole(make_trial(0))
    latest = max(points(trial_of(scribe)), key=lambda point: point.at_ms)
    assert (latest.name, latest.value) == ("peak_rss_gib", 1.25)


def test_the_parent_describes_the_sweep(scribe: Scribe) -> None:
    described = parent_tags(read_history(events_of(scribe.run_dir)), "/runs/a")
    assert described["mlflow.source.git.commit"] == "c0ffee"
    assert "How many workers?" in described["mlflow.note.content"]
    assert described["data"] == "products-synthetic"
    assert "reason" not in described


@pytest.mark.parametrize(
    ("code", "status"),
    [(0, Status.FINISHED), (1, Status.FAILED), (130, Status.KILLED), (143, Status.KILLED)],
)
def test_the_parents_status_follows_the_exit_code(code: int, status: Status) -> None:
    assert parent_status(code) == status


def test_a_failed_trial_keeps_its_reason(scribe: Scribe) -> None:
    scribe.whole(make_trial(0), TrialState.FAILED)
    assert tags(trial_of(scribe))["reason"].startswith("RuntimeError: no luck")
