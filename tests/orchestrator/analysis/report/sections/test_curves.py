"""Learning curves."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pandas as pd
import pytest

from orchestrator.analysis.report.sections.chosen_curves import drawn_curves
from orchestrator.analysis.report.sections.curves import MAX_POINTS, curves_of
from orchestrator.analysis.report.view import View
from tests.orchestrator.analysis.made_runs import MadeRun, config
from tests.orchestrator.analysis.report.pages import view_of_run


def test_each_trial_is_drawn_once_and_the_recommended_one_last(view: View) -> None:
    curves = drawn_curves(view)
    assert curves is not None
    over_time, over_samples = curves_of(view).figures
    assert (over_time.name, over_samples.name) == ("accuracy-over-time", "accuracy-over-samples")
    for drawn in (over_time.figure, over_samples.figure):
        kinds = [line.name for line in drawn.data]
        assert list(dict.fromkeys(kinds)) == [
            "other trials", "on the front", "baseline", "recommended",
        ]  # fmt: skip
        assert len(kinds) == curves.reports["trial_id"].nunique()
        assert kinds[-2:] == ["baseline", "recommended"]


def test_the_tables_have_the_reports_of_the_run(view: View) -> None:
    _, over_samples = curves_of(view).figures
    table = over_samples.table.set_index(["trial_id", "samples"])["metrics.val_acc"]
    reports = view.curves.set_index(["trial_id", "samples"])["metrics.val_acc"]
    assert table.to_dict() == pytest.approx(reports[table.index].to_dict())


def test_the_ends_of_the_lines_that_are_singled_out_are_in_sight() -> None:
    run = MadeRun()
    run.add(config(lr=1e-6))
    run.add(config(num_workers=3))
    run.sweep["baseline"] = config(lr=1e-6)
    (over_time, _) = curves_of(view_of_run(run)).figures
    last = min(row["metrics.val_acc"] for row in run.rows)
    shown = over_time.shown.get("yaxis.range", [0.0])
    assert shown[0] < last


def test_time_in_training_is_the_clock_where_all_report_it(view: View) -> None:
    trained = view.curves.assign(**{"metrics.train_s": view.curves["elapsed_s"] / 2})
    over_time, _ = curves_of(replace(view, curves=trained)).figures
    assert over_time.figure.layout.xaxis.title.text == "training time (s)"
    assert "evaluation is not counted" in over_time.caption
    assert over_time.table["clock_s"].max() == pytest.approx(view.curves["elapsed_s"].max() / 2)


def test_a_line_of_very_many_reports_is_drawn_with_a_few_hundred(view: View) -> None:
    one = view.curves[view.curves["trial_id"] == view.curves["trial_id"].iloc[0]]
    many = pd.concat([one.iloc[[0]]] * 20_000, ignore_index=True)
    many = many.assign(samples=range(20_000), elapsed_s=np.arange(20_000) / 10)
    over_time, over_samples = curves_of(replace(view, curves=many)).figures
    for drawn, end in ((over_time, 1999.9), (over_samples, 19_999)):
        (line,) = drawn.figure.data
        assert len(line.x) == MAX_POINTS
        assert (line.x[0], line.x[-1]) == (0, end)
        assert len(drawn.table) == 20_000, "the file has all"


def test_without_curves_a_sentence_says_why(view: View) -> None:
    last = view.curves.drop_duplicates("trial_id", keep="last")
    section = curves_of(replace(view, curves=last))
    assert section.figures == ()
    assert section.missing == "val_acc was evaluated once a trial, so that there is no curve"
    without = curves_of(replace(view, curves=view.curves.drop(columns="metrics.val_acc")))
    assert without.missing.startswith("no trial reported val_acc while it trained")
