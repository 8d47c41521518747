"""Saved views of MLflow's page; that they open is tested in its pages."""

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from orchestrator.metrics import maximize, minimize
from orchestrator.storage.history import read_history
from orchestrator.tracking.mlflow.content import MirroredRun
from orchestrator.tracking.mlflow.views import (
    ANSWER,
    CHARTS,
    INCOMPLETE,
    MAX_KNOBS,
    VIEW_TAG,
    links,
    view_tags,
)
from orchestrator.trial import TrialState
from tests.orchestrator.tracking.journals import Scribe, events_of, make_trial


@pytest.fixture
def scribe(tmp_path: Path) -> Scribe:
    return Scribe(tmp_path / "run")


def view_of(scribe: Scribe, view_id: str) -> dict[str, Any]:
    """Return the state of a view as MLflow's page reads it."""
    run = MirroredRun(run_dir=scribe.run_dir, history=read_history(events_of(scribe.run_dir)))
    text = view_tags(run, 1_790_000_000_000)[f"{VIEW_TAG}{view_id}"]
    assert len(text) <= 20_000, "MLflow takes no more"
    return json.loads(json.loads(text)["state"])


def test_the_answer_is_sorted_by_speed_in_its_own_direction(scribe: Scribe) -> None:
    scribe.sweep()
    scribe.whole(make_trial(0))
    scribe.whole(make_trial(1))
    scribe.whole(make_trial(4), TrialState.FAILED)
    first = view_of(scribe, ANSWER)
    assert (first["orderByKey"], first["orderByAsc"]) == ("metrics.`samples_per_s`", False)
    assert "tags.stage != 'probe'" in first["searchFilter"]
    columns = first["selectedColumns"]
    assert columns.index("metrics.`samples_per_s`") < columns.index("params.`num_workers`")
    assert "params.`lr`" not in columns, "it varies where nothing completed"
    failed = view_of(scribe, INCOMPLETE)
    assert "tags.state != 'completed'" in failed["searchFilter"]
    assert {"tags.`reason`", "params.`lr`"} <= set(failed["selectedColumns"])


def test_the_charts_are_of_speed_accuracy_and_the_knobs_that_vary(scribe: Scribe) -> None:
    scribe.sweep(objectives=(minimize("epoch_s"), maximize("val_acc")))
    scribe.whole(make_trial(0))
    scribe.whole(make_trial(1))
    found = view_of(scribe, CHARTS)
    assert found["orderByAsc"] is True
    scatter, parallel = charts = found["compareRunCharts"]
    assert (scatter["xaxis"]["key"], scatter["yaxis"]["key"]) == ("val_acc", "epoch_s")
    assert parallel["selectedParams"] == ["num_workers"]
    assert parallel["selectedMetrics"] == ["peak_rss_gib", "val_acc", "epoch_s"]
    assert len({chart["uuid"] for chart in charts}) == 2
    sections = found["compareRunSections"]
    assert {chart["metricSectionId"] for chart in charts} == {sections[0]["uuid"]}


def test_a_sweep_of_very_many_knobs_has_views_that_mlflow_takes(scribe: Scribe) -> None:
    scribe.sweep()
    for number in (0, 1):
        names = [f"{'knob' * 50}_{each}" for each in range(10 * MAX_KNOBS)]
        scribe.whole(replace(make_trial(number), config=dict.fromkeys(names, number)))
    assert len(view_of(scribe, ANSWER)["selectedColumns"]) < 2 * MAX_KNOBS
    assert len(view_of(scribe, CHARTS)["compareRunCharts"][1]["selectedParams"]) == MAX_KNOBS


def test_the_links_open_the_charts_as_charts() -> None:
    assert f"viewStateShareKey={CHARTS}&compareRunsMode=CHART" in links("1")
    assert (
        f"[Answer](#/experiments/1/runs?workflowType=machine_learning&viewStateShareKey={ANSWER})"
        in links("1")
    )
