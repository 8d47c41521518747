"""Figures of studies beside ours."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

import numpy as np
import pytest

from orchestrator.analysis.report.page import report_of
from orchestrator.analysis.report.sections.published import published_of
from orchestrator.analysis.report.view import View
from orchestrator.metrics import Published
from tests.orchestrator.analysis.made_runs import MadeRun, config
from tests.orchestrator.analysis.report.pages import view_of_run, with_sweep

SETTING, FIGURE, THEIRS, THEIR_RATIO, OURS, OUR_RATIO, OUR_CONFIG = range(7)


def rows_of(view: View) -> list[list[str]]:
    """The cells of the only study."""
    _, study = published_of(view)
    return [[cell.text for cell in row] for row in study.table.rows] if study.table else []


def row_of(view: View, knobs: Mapping[str, object], metric: str) -> list[str]:
    """The row of a study with one figure at ``knobs``."""
    data = view.sweep.data
    published = Published(source="a study", knobs=knobs, figures={metric: 0.8}, data=data)
    (row,) = rows_of(with_sweep(view, published=(published,)))
    return row


def test_published_ratios_stand_beside_ours(view: View) -> None:
    row = rows_of(view)[1]
    assert row[:OURS] == ["num_workers=3", "epoch_s", "44.51 s", "0.55"]
    ours = view.trials["metrics.epoch_s"]
    # Of the six configs with 3 workers the one that is otherwise the baseline.
    assert row[OUR_CONFIG] == "lr=0.003 batch_size=1000 num_workers=3"
    assert row[OUR_RATIO] == f"{ours.iloc[5] / ours.iloc[4]:.2f} (one run each)"
    assert published_of(view)[1].notes == ("first epoch; ours is the median of all",)


@pytest.mark.parametrize(
    ("ours", "text"),
    [([0.5, 0.505, 0.495], "0.50 (0.49 to 0.51)"), ([0.9, 0.3, 0.5], "not known")],
)
def test_our_ratio_has_an_interval_or_is_not_known(ours: list[float], text: str) -> None:
    run = MadeRun()
    for workers, epochs_s in ((0, [1.0, 1.005, 0.995]), (3, ours)):
        for repeat, epoch_s in enumerate(epochs_s):
            cells = {"metrics.epoch_s": epoch_s}
            run.add_runs(config(num_workers=workers), [1000.0], first=repeat, **cells)
    rows = rows_of(view_of_run(run))
    assert [row[OUR_RATIO] for row in rows] == ["1.00", text, "", ""]


def test_configs_that_differ_in_more_than_the_study_names_have_no_ratio() -> None:
    """The ratio would be of the batch as well."""
    run = MadeRun()
    run.add(config())
    run.add(config(num_workers=3, batch_size=4000))
    rows = rows_of(view_of_run(run))
    assert [row[OUR_RATIO] for row in rows] == ["1.00", "", "", ""]
    assert rows[1][OUR_CONFIG] == "lr=0.003 batch_size=4000 num_workers=3"
    assert rows[1][OURS] != "not measured"


@pytest.mark.parametrize("metric", ["test_acc", "all_acc"])
def test_a_published_test_figure_stands_beside_that_of_the_config_that_was_tested(
    metric: str, view: View
) -> None:
    tested = view.confirmed["is_recommended"]
    confirmed = view.confirmed.assign(**{f"metrics.{metric}": np.where(tested, 0.7912, np.nan)})
    view = replace(view, confirmed=confirmed)
    row = row_of(view, {"num_workers": 3}, metric)
    assert (row[OURS], row[OUR_CONFIG]) == ("79.12 %", "lr=0.01 batch_size=4000 num_workers=3")
    row = row_of(view, {"num_workers": 6}, metric)
    assert row[OURS:] == ["not measured", "", "no completed config"]


@pytest.mark.parametrize("named", ["ogbn-products", ""], ids=["named", "an earlier version"])
def test_figures_of_another_data_set_are_not_shown(view: View, named: str) -> None:
    """A set stands in for the sweep's in this run: its accuracy says nothing of the study's."""
    figures = {"val_acc": 0.8773}
    published = Published(
        source="a study", knobs={}, figures=figures, note="of 20 epochs", data=named
    )
    sweep = with_sweep(view, published=(published,))
    _, study = published_of(sweep)
    theirs = named or "the sweep's own data set"
    said = f"its figures are of {theirs}: they are not shown beside those of products-synthetic"
    assert (study.table, study.notes) == (None, (said,))
    page = report_of(sweep).html
    assert "87.73" not in page
    assert "they are not shown beside those of products-synthetic." in page
    assert "Their hardware differs" not in page
