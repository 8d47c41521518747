"""Figures of the page: configs, curves, speed over a knob; their drawing."""

from dataclasses import asdict

import numpy as np
import pandas as pd
import plotly.graph_objects as go
import pytest

import orchestrator.analysis as an
from orchestrator.analysis.recommendation.front import LOAD_SIGN
from orchestrator.analysis.report.sections.curves import MAX_LINES, MAX_POINTS, STYLES, curves_of
from orchestrator.analysis.report.sections.scaling import MAX_FAMILIES, scaling_figure
from orchestrator.analysis.report.sections.scatter import hover, scatter_figures
from orchestrator.analysis.report.view import View
from orchestrator.analysis.report.write import front_picture
from orchestrator.metrics import Objective, at_least, maximize, minimize
from tests.orchestrator.analysis.made_runs import MadeRun, config, products_run
from tests.orchestrator.analysis.report.pages import view_of_run, with_tables

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
        "not accurate enough", "other configs", f"other configs {LOAD_SIGN}", "on the front",
        "baseline", "recommended",
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
    assert ">12 configs out of sight<" in front_picture([figure.to_json()], "made")


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


def kinds_of(view: View) -> pd.Series:
    """The kind of each drawn trial."""
    table = curves_of(view).figures[0].table
    return table.drop_duplicates("trial_id").set_index("trial_id")["kind"]


def test_some_of_many_trials_are_drawn_with_a_note() -> None:
    run = MadeRun()
    for number in range(60):
        run.add(config(lr=1e-5 * (number + 1)))
    run.add(config())
    view = view_of_run(run)
    kinds = kinds_of(view)
    others = kinds.index[kinds == "other trials"]
    assert len(others) == MAX_LINES
    assert curves_of(view).lines[0].startswith(f"{len(kinds)} of 61 trials are drawn")
    finals = view.trials.set_index("trial_id")["metrics.val_acc"]
    assert finals[others].min() == finals.min(), "the ends are among them"


def test_each_trial_has_one_kind_and_is_drawn_once_the_recommended_one_last(view: View) -> None:
    kinds, rows = kinds_of(view), view.configs.set_index("label")
    for kind, mark in (("recommended", "is_recommended"), ("baseline", "is_baseline")):
        (ids,) = rows.loc[rows[mark], "trial_ids"]
        assert set(kinds.index[kinds == kind]) == set(ids)
    over_time, over_samples = curves_of(view).figures
    assert (over_time.name, over_samples.name) == ("accuracy-over-time", "accuracy-over-samples")
    for drawn in (over_time.figure, over_samples.figure):
        lines = [line.name for line in drawn.data]
        assert list(dict.fromkeys(lines)) == list(STYLES)
        assert len(lines) == len(kinds)
        assert lines[-2:] == ["baseline", "recommended"]


def test_time_in_training_is_the_clock_where_all_report_it(view: View) -> None:
    trained = view.tables.curves.assign(**{"metrics.train_s": view.tables.curves["elapsed_s"] / 2})
    over_time, _ = curves_of(with_tables(view, curves=trained)).figures
    assert over_time.figure.layout.xaxis.title.text == "training time (s)"
    assert "evaluation is not counted" in over_time.caption
    assert over_time.table["clock_s"].max() == pytest.approx(
        view.tables.curves["elapsed_s"].max() / 2
    )


def test_a_line_of_very_many_reports_is_drawn_with_a_few_hundred(view: View) -> None:
    one = view.tables.curves[
        view.tables.curves["trial_id"] == view.tables.curves["trial_id"].iloc[0]
    ]
    many = pd.concat([one.iloc[[0]]] * 20_000, ignore_index=True)
    many = many.assign(samples=range(20_000), elapsed_s=np.arange(20_000) / 10)
    over_time, over_samples = curves_of(with_tables(view, curves=many)).figures
    for drawn, end in ((over_time, 1999.9), (over_samples, 19_999)):
        (line,) = drawn.figure.data
        assert len(line.x) == MAX_POINTS
        assert (line.x[0], line.x[-1]) == (0, end)
        assert len(drawn.table) == 20_000, "the file has all"


def test_without_curves_a_sentence_gives_the_reason(view: View) -> None:
    last = view.tables.curves.drop_duplicates("trial_id", keep="last")
    without = view.tables.curves.drop(columns="metrics.val_acc")
    for curves in (last, without):
        section = curves_of(with_tables(view, curves=curves))
        assert section.figures == ()
        assert section.missing.startswith("no trial reported val_acc twice while it trained")


def test_the_recommended_family_comes_first_and_of_many_some_are_drawn(view: View) -> None:
    drawn = scaling_figure(view, an.scaling(view.tables, "num_workers"))
    assert drawn.figure.data[0].name == "lr=0.01 batch_size=4000"
    assert len(drawn.figure.data) == MAX_FAMILIES
    assert "2 other sets of such configs are not drawn" in drawn.caption
    assert drawn.table["family"].nunique() == MAX_FAMILIES


def test_ceilings_are_drawn_separately_from_measured_figures() -> None:
    run, rng = MadeRun(), np.random.default_rng(0)
    for workers in (1, 2):
        for repeat in range(3):
            speed = workers * 2500 * float(np.exp(0.01 * rng.standard_normal()))
            cells: dict[str, object] = {
                "metrics.samples_per_s": speed,
                "metrics.loader_only_samples_per_s": workers * 2500.0,
                "metrics.compute_only_samples_per_s": 10_000.0,
            }
            run.add(config(num_workers=workers), repeat=repeat, **cells)  # type: ignore[arg-type]
    view = view_of_run(run)
    measured, ceiling = scaling_figure(view, an.scaling(view.tables)).figure.data
    assert list(measured.x) == [1, 2]
    assert list(ceiling.y) == [2500.0, 5000.0]
