"""Speed against accuracy."""

from __future__ import annotations

from dataclasses import asdict

import plotly.graph_objects as go
import pytest

from orchestrator.analysis.report.sections.scatter import (
    hover,
    scatter_figures,
)
from orchestrator.analysis.report.view import View
from orchestrator.metrics import Objective, at_least, maximize, minimize
from tests.orchestrator.analysis.made_runs import MadeRun, config, products_run
from tests.orchestrator.analysis.report.pages import view_of_run

SPEED, ACCURACY, MEMORY = maximize("samples_per_s"), maximize("val_acc"), minimize("peak_rss_gib")


def run_with(*objectives: Objective) -> MadeRun:
    run = products_run()
    run.sweep["objectives"] = [asdict(objective) for objective in objectives]
    return run


def drawn(view: View, place: int = 0) -> go.Figure:
    return scatter_figures(view)[place].figure


def points_of(view: View) -> list[go.Scatter]:
    return [trace for trace in drawn(view).data if trace.mode == "markers"]


def test_each_config_is_one_mark_by_the_runs_that_selected(view: View) -> None:
    traces = points_of(view)
    assert sum(len(trace.x) for trace in traces) == len(view.configs)
    assert [trace.name for trace in traces] == [
        "not accurate enough", "other configs", "on the front", "baseline", "recommended",
    ]  # fmt: skip
    assert len({trace.marker.symbol for trace in traces}) == 5
    recommended = view.configs[view.configs["is_recommended"]]
    speeds = recommended["metrics.samples_per_s"].tolist()
    assert list(traces[-1].x) == pytest.approx(speeds, rel=1e-5)


def test_the_scale_of_the_speed_is_that_of_the_configs_in_sight() -> None:
    run = products_run()
    run.add(config(lr=1.0), **{"metrics.samples_per_s": 1e7, "metrics.val_acc": 0.1})
    assert drawn(view_of_run(run)).layout.xaxis.type == "linear"
    run.rows[-1]["metrics.val_acc"] = 0.92
    assert drawn(view_of_run(run)).layout.xaxis.type == "log"


def test_a_third_objective_has_a_picture_with_the_most_that_is_recommended() -> None:
    view = view_of_run(run_with(SPEED, ACCURACY, MEMORY))
    assert [other.metric for other in view.beside_speed] == ["val_acc", "peak_rss_gib"]
    figure = drawn(view, 1)
    limit = view.rule.limits(view.configs)["peak_rss_gib"]
    assert [shape.y0 for shape in figure.layout.shapes] == [pytest.approx(limit, rel=1e-5)]
    assert figure.layout.yaxis.title.text == "peak_rss_gib (GiB)"
    # A line through a front of three objectives would be the edge of nothing.
    assert "lines" not in [trace.mode for trace in figure.data]


def test_a_bound_is_drawn_where_it_is() -> None:
    view = view_of_run(run_with(SPEED, at_least("val_acc", 0.9)))
    assert [shape.y0 for shape in drawn(view).layout.shapes] == [0.9]
    assert "val_acc is at least 90.00 %." in scatter_figures(view)[0].caption


def range_of(view: View) -> tuple[float, float]:
    low, high = drawn(view).layout.yaxis.range
    return low, high


def test_the_least_accuracy_that_is_recommended_is_the_lower_edge(view: View) -> None:
    low, high = range_of(view)
    limit = view.rule.limits(view.configs)["val_acc"]
    assert low < limit < low + 0.15 * (high - low)
    assert view.configs["metrics.val_acc"].max() < high
    (figure,) = scatter_figures(view)
    assert "12 less accurate configs out of sight: a double click shows all" in figure.caption


def test_the_baseline_is_in_sight_where_it_is_less_accurate() -> None:
    run = products_run()
    for row in run.rows:
        if row["params.num_workers"] == 0 and row["params.batch_size"] == 1000:
            row["metrics.val_acc"] = 0.8
    run.add(config(lr=1.0), **{"metrics.val_acc": 0.1})
    low, _ = range_of(view_of_run(run))
    assert 0.7 < low < 0.8


def test_of_very_many_configs_a_sample_is_drawn(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("orchestrator.analysis.report.view.MAX_DRAWN", 10)
    view = view_of_run(products_run())
    assert sum(len(trace.x) for trace in points_of(view)) == len(view.configs) == 10
    assert "10 of 24 configs are drawn" in scatter_figures(view)[0].caption


def test_the_table_has_a_row_a_mark_and_the_ids_of_its_trials(view: View) -> None:
    (figure,) = scatter_figures(view)
    assert len(figure.table) == 24
    (row,) = figure.table[figure.table["mark"] == "recommended"].to_dict("records")
    assert (row["params.num_workers"], len(row["trial_ids"].split())) == (3, 1)


def test_texts_of_users_cannot_change_the_page_and_truth_values_are_as_in_commands() -> None:
    run = MadeRun()
    run.add(config(allocator="<b>x</b>", persistent_workers=True))
    run.add(config(persistent_workers=False))
    view = view_of_run(run)
    first, second = hover(view, view.configs)
    assert "allocator=&lt;b&gt;x&lt;/b&gt;" in first
    assert "persistent_workers=true" in first
    assert "persistent_workers=false" in second
