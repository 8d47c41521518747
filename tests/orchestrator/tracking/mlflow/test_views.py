"""Saved views of MLflow's page; that they open is tested in its pages."""

from __future__ import annotations

import json
from dataclasses import replace
from typing import Any

from orchestrator.tracking.mlflow.views import (
    ANSWER,
    CHARTS,
    INCOMPLETE,
    MAX_KNOBS,
    VIEW_TAG,
    Shown,
    links,
    view_tags,
)

SHOWN = Shown(
    key="f00d",
    speed="samples_per_s",
    accuracy="val_acc",
    is_speed_maximized=True,
    knobs=["lr", "num_workers"],
    all_knobs=["lr", "num_workers", "ranks"],
    others=["val_acc", "peak_rss_gib", "epoch_s"],
    baseline="b" * 32,
    at_ms=1_790_000_000_000,
)


def state(shown: Shown, view_id: str) -> dict[str, Any]:
    """Return the state of a view as MLflow's page reads it."""
    found = json.loads(json.loads(view_tags(shown)[f"{VIEW_TAG}{view_id}"])["state"])
    assert isinstance(found, dict)
    return found


def test_the_answer_is_sorted_by_speed_in_its_own_direction() -> None:
    first = state(SHOWN, ANSWER)
    assert first["orderByKey"] == "metrics.`samples_per_s`"
    assert first["orderByAsc"] is False
    assert "tags.stage != 'probe'" in first["searchFilter"]
    assert "tags.`sweep.run` = 'f00d'" in first["searchFilter"]
    columns = first["selectedColumns"]
    assert columns.index("metrics.`samples_per_s`") < columns.index("params.`lr`")
    assert "params.`ranks`" not in columns, "it varies where nothing completed"
    slow = replace(SHOWN, speed="epoch_s", is_speed_maximized=False)
    assert state(slow, ANSWER)["orderByAsc"] is True


def test_the_charts_are_of_speed_accuracy_and_the_knobs_that_vary() -> None:
    charts = state(SHOWN, CHARTS)["compareRunCharts"]
    scatter, parallel, difference = charts
    assert (scatter["xaxis"]["key"], scatter["yaxis"]["key"]) == ("val_acc", "samples_per_s")
    assert parallel["selectedParams"] == ["lr", "num_workers"]
    assert parallel["selectedMetrics"] == ["peak_rss_gib", "val_acc", "samples_per_s"]
    assert difference["baselineColumnUuid"] == SHOWN.baseline
    assert len({chart["uuid"] for chart in charts}) == 3
    sections = state(SHOWN, CHARTS)["compareRunSections"]
    assert [section["display"] for section in sections] == [True, False]
    assert {chart["metricSectionId"] for chart in charts} == {sections[0]["uuid"]}


def test_what_did_not_complete_has_its_reason_and_all_knobs() -> None:
    found = state(SHOWN, INCOMPLETE)
    assert "tags.state != 'completed'" in found["searchFilter"]
    assert {"tags.`reason`", "params.`ranks`"} <= set(found["selectedColumns"])
    assert found["orderByKey"] != "attributes.start_time", "the page would show parents"


def test_a_sweep_of_very_many_knobs_has_views_that_mlflow_takes() -> None:
    names = [f"{'knob' * 50}_{number}" for number in range(10 * MAX_KNOBS)]
    wide = replace(SHOWN, knobs=names, all_knobs=names)
    assert max(map(len, view_tags(wide).values())) <= 20_000
    assert len(state(wide, CHARTS)["compareRunCharts"][1]["selectedParams"]) == MAX_KNOBS


def test_the_links_open_the_charts_as_charts() -> None:
    assert f"viewStateShareKey={CHARTS}&compareRunsMode=CHART" in links("1")
    assert (
        f"[Answer](#/experiments/1/runs?workflowType=machine_learning&viewStateShareKey={ANSWER})"
        in links("1")
    )
