"""Speed against accuracy."""

from __future__ import annotations

from dataclasses import asdict

import pytest

from analysis.report.sections.scatter import limit_text, scatter
from orchestrator.metrics import Objective, at_least, maximize, minimize
from tests.analysis.made_runs import MadeRun, config, products_run
from tests.analysis.report.pages import view_of_run


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

    figure = scatter(view, view.beside_speed[0])

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
    figure = scatter(view, memory)
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
    assert [shape.y0 for shape in scatter(view, accuracy).layout.shapes] == [0.9]
    assert limit_text(view, accuracy) == (
        "Dotted: what the sweep asks for, val_acc is at least 90.00 %."
    )


def test_a_single_objective_is_drawn_against_what_was_learned_beside_it() -> None:
    view = view_of_run(run_with(SPEED))
    assert [other.metric for other in view.beside_speed] == ["val_acc"]
    assert limit_text(view, view.beside_speed[0]) == ""


def test_what_falls_short_is_named_by_its_metric() -> None:
    view = view_of_run(run_with(SPEED, MEMORY))
    names = {trace.name for trace in scatter(view, view.beside_speed[0]).data}
    assert "short of the rule in peak_rss_gib" in names
    assert "not accurate enough" not in names
