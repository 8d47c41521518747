"""Speed against accuracy."""

from __future__ import annotations

from dataclasses import asdict

import numpy as np
import plotly.graph_objects as go
import pytest

from orchestrator.analysis.report.sections.captions import limit_text
from orchestrator.analysis.report.sections.ranges import range_from_limit
from orchestrator.analysis.report.sections.scatter import scatter, scatter_figures
from orchestrator.analysis.report.style import CONFIRMED
from orchestrator.analysis.report.view import View
from orchestrator.metrics import Objective, at_least, maximize, minimize
from tests.orchestrator.analysis.made_runs import MadeRun, config, products_run
from tests.orchestrator.analysis.report.pages import view_of_run


@pytest.mark.parametrize("times", [4.0, 400.0])
def test_a_config_out_of_sight_does_not_stretch_the_axis_of_speed(times: float) -> None:
    run = products_run()
    speed, accuracy = "metrics.samples_per_s", "metrics.val_acc"
    fastest = max(row[speed] for row in run.rows if row["state"] == "completed")
    for row in run.rows:
        if row["stage"] == "confirm":
            row.update({name: 2 * row[name] for name in row if name.startswith(speed)})
    ends = {f"{speed}_{scope}{end}": times * fastest for scope in ("", "within_") for end in
            ("low", "high")}  # fmt: skip
    run.add(config(lr=1.0), **{speed: times * fastest, accuracy: 0.1}, **ends)
    view = view_of_run(run)

    figure = scatter(view, view.beside_speed[0]).plotly()

    low, high = figure.layout.xaxis.range
    if figure.layout.xaxis.type == "log":
        low, high = 10**low, 10**high
    shown = view.configs[view.configs[accuracy] > figure.layout.yaxis.range[0]][speed]
    assert len(shown) > 10
    assert low < shown.min() < shown.max() < high < 3 * fastest
    confirmed = view.confirmed[view.confirmed["is_recommended"]][speed]
    assert 1.5 * fastest < confirmed.item() < high, "runs that confirm are in sight as well"


def run_with(*objectives: Objective) -> MadeRun:
    run = products_run()
    run.sweep["objectives"] = [asdict(objective) for objective in objectives]
    return run


SPEED, ACCURACY, MEMORY = maximize("samples_per_s"), maximize("val_acc"), minimize("peak_rss_gib")


def test_a_third_objective_has_a_picture_with_the_most_that_is_recommended() -> None:
    view = view_of_run(run_with(SPEED, ACCURACY, MEMORY))
    assert [other.metric for other in view.beside_speed] == ["val_acc", "peak_rss_gib"]
    accuracy, memory = view.beside_speed
    figure = scatter(view, memory).plotly()
    limit = view.rule.limits(view.configs)["peak_rss_gib"]
    assert [shape.y0 for shape in figure.layout.shapes] == [limit]
    assert figure.layout.yaxis.title.text == "peak_rss_gib (GiB)"
    assert limit_text(view, accuracy) == (
        "Dotted: 0.5 points short of the best accuracy, the least that is recommended."
    )
    assert limit_text(view, memory) == (
        "Dotted: 2 % short of the best peak_rss_gib of the configs that hold the conditions before "
        "it, the most that is recommended."
    )
    # A line through a front of three objectives would be the edge of nothing.
    assert "lines" not in [trace.mode for trace in figure.data]


def test_a_bound_is_drawn_where_it_is() -> None:
    view = view_of_run(run_with(SPEED, at_least("val_acc", 0.9)))
    (accuracy,) = view.beside_speed
    assert [shape.y0 for shape in scatter(view, accuracy).plotly().layout.shapes] == [0.9]
    assert limit_text(view, accuracy) == (
        "Dotted: what the sweep asks for, val_acc is at least 90.00 %."
    )


def test_what_falls_short_is_named_by_its_metric() -> None:
    view = view_of_run(run_with(SPEED, MEMORY))
    names = {trace.name for trace in scatter(view, view.beside_speed[0]).plotly().data}
    assert "short of the rule in peak_rss_gib" in names
    assert "not accurate enough" not in names


def points_of(view: View) -> list[go.Scatter]:
    figure = scatter(view, view.beside_speed[0]).plotly()
    return [trace for trace in figure.data if trace.type == "scatter" and trace.mode == "markers"]


def test_each_config_is_one_mark_by_the_runs_that_selected(view: View) -> None:
    traces = [trace for trace in points_of(view) if trace.name != CONFIRMED]
    assert sum(len(trace.x) for trace in traces) == len(view.configs)
    assert [trace.name for trace in traces] == [
        "not accurate enough", "other configs", "on the front", "baseline", "recommended",
    ]  # fmt: skip
    assert len({trace.marker.symbol for trace in traces}) == 5
    recommended = view.configs[view.configs["is_recommended"]]
    assert list(traces[-1].x) == recommended["metrics.samples_per_s"].tolist()


def test_confirm_runs_are_open_marks_of_their_own_with_one_word(view: View) -> None:
    baseline, recommended = (t for t in points_of(view) if t.name == CONFIRMED)
    assert (baseline.marker.symbol, recommended.marker.symbol) == ("square-open", "star-open")
    assert (baseline.showlegend, recommended.showlegend) == (True, False)
    confirmed = view.confirmed[view.confirmed["is_recommended"]]
    assert list(recommended.x) == confirmed["metrics.samples_per_s"].tolist()


def test_the_least_accuracy_that_is_recommended_is_the_lower_edge(view: View) -> None:
    (other,) = view.beside_speed
    low, high = range_from_limit(view, other) or (0.0, 0.0)
    limit = view.rule.limits(view.configs)["val_acc"]
    best = view.configs["metrics.val_acc"].max()
    assert low < limit < low + 0.15 * (high - low)
    assert best < high
    (figure,) = scatter_figures(view)
    assert figure.shown["yaxis.range"] == [low, high]
    assert figure.rest == "Show 12 less accurate configs too"


def test_the_baseline_is_in_sight_where_it_is_less_accurate() -> None:
    run = products_run()
    for row in run.rows:
        if row["params.num_workers"] == 0 and row["params.batch_size"] == 1000:
            row["metrics.val_acc"] = 0.8
    run.add(config(lr=1.0), **{"metrics.val_acc": 0.1})
    view = view_of_run(run)
    low, _ = range_from_limit(view, view.beside_speed[0]) or (0.0, 0.0)
    assert 0.7 < low < 0.8


def test_what_is_recommended_by_speed_alone_is_in_sight() -> None:
    view = view_of_run(run_with(SPEED))
    low, high = range_from_limit(view, view.beside_speed[0]) or (0.0, 1.0)
    (accuracy,) = view.shown.loc[view.shown["is_recommended"], "metrics.val_acc"]
    assert low < accuracy < high


def test_of_very_many_configs_a_field_shows_all(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("orchestrator.analysis.report.view.MAX_DRAWN", 10)
    view = view_of_run(products_run())
    figure = scatter(view, view.beside_speed[0]).plotly()
    (field,) = (trace for trace in figure.data if trace.type == "heatmap")
    counts = np.nan_to_num(10 ** np.array(field.z, dtype=float))
    assert round(counts.sum()) == pytest.approx(view.num_configs, abs=1) == 24
    marks = [trace for trace in points_of(view) if trace.name != CONFIRMED]
    assert sum(len(trace.x) for trace in marks) == len(view.configs) == 10
    (drawn,) = scatter_figures(view)
    assert "Grey field: all 24 configs. Marks: 10 of them" in drawn.caption


def test_the_table_has_a_row_a_mark_and_the_ids_of_its_trials(view: View) -> None:
    (figure,) = scatter_figures(view)
    assert len(figure.table) == 24 + 2
    rows = figure.table[figure.table["mark"].str.startswith("recommended")].to_dict("records")
    assert [row["params.num_workers"] for row in rows] == [3, 3]
    assert [row["mark"] for row in rows] == ["recommended", "recommended, by confirm runs"]
    assert [row["measured_in"] for row in rows] == ["train", "confirm"]
    assert [len(row["trial_ids"].split()) for row in rows] == [1, 3]


def test_where_no_config_has_both_figures_there_is_no_empty_picture() -> None:
    run = MadeRun()
    run.add(config(), **{"metrics.val_acc": float("nan"), "metrics.peak_rss_gib": float("nan")})
    assert scatter_figures(view_of_run(run)) == []
