"""A trial's params, points and tags as MLflow gets them."""

import pytest
from mlflow.utils.validation import _validate_metric_name

from orchestrator.storage.history import TrialHistory, read_history
from orchestrator.tracking.mlflow.content import points, tags
from tests.orchestrator.tracking.journals import Scribe, events_of, make_trial


def trial_of(scribe: Scribe) -> TrialHistory:
    (trial,) = read_history(events_of(scribe.run_dir)).trials.values()
    return trial


def test_a_trial_that_runs_has_only_tags_that_cannot_change(scribe: Scribe) -> None:
    scribe.started(scribe.asked(make_trial(0)))
    assert {"stage", "seed", "data"} <= tags(trial_of(scribe)).keys()
    assert not {"state", "reason", "bound"} & tags(trial_of(scribe)).keys()
    scribe.finished(make_trial(0))
    assert tags(trial_of(scribe))["state"] == "completed"


def test_a_value_that_training_found_is_a_tag_since_params_stay(scribe: Scribe) -> None:
    scribe.started(scribe.asked(make_trial(0)))
    scribe.finished(make_trial(0), tags={"params.lr": "0.5"})
    assert tags(trial_of(scribe))["params.lr"] == "0.5"


def test_each_point_is_given_once_and_figures_of_the_result_last(scribe: Scribe) -> None:
    scribe.whole(make_trial(0))
    trial = trial_of(scribe)
    every = points(trial)
    assert {point.step for point in points(trial, 2)} == {300}
    assert len(every) == len(set(every)), "none twice"
    latest = max(every, key=lambda point: point.at_ms)
    assert (latest.name, latest.value) == ("peak_rss_gib", 1.25)


@pytest.mark.parametrize("name", ["..", "a//b", "/x", "../x", "a/", "", "a b"])
def test_mlflow_takes_every_name_of_a_figure(scribe: Scribe, name: str) -> None:
    trial = scribe.asked(make_trial(0))
    scribe.started(trial)
    report = {"step": 1, "epoch": 1, "samples": 1, "elapsed_s": 1.0, "metrics": {name: 0.5}}
    scribe.record("report", trial_id=trial.id, report=report)
    (point,) = points(trial_of(scribe))
    _validate_metric_name(point.name)
