"""Learning curves."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pandas as pd
import pytest

from orchestrator.analysis.report.sections.curves import (
    MAX_LINES,
    MAX_POINTS,
    STYLES,
    curves_of,
)
from orchestrator.analysis.report.view import View
from tests.orchestrator.analysis.made_runs import MadeRun, config
from tests.orchestrator.analysis.report.pages import view_of_run


def kinds_of(view: View) -> pd.Series[str]:
    """The kind of each drawn trial."""
    table = curves_of(view).figures[0].table
    return table.drop_duplicates("trial_id").set_index("trial_id")["kind"]


def test_of_many_trials_some_are_drawn_and_the_section_says_so() -> None:
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
    without = view.curves.drop(columns="metrics.val_acc")
    for curves in (last, without):
        section = curves_of(replace(view, curves=curves))
        assert section.figures == ()
        assert section.missing.startswith("no trial reported val_acc twice while it trained")
