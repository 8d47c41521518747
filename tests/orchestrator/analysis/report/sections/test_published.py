"""Figures of studies beside ours."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

import numpy as np
import pytest

from orchestrator.analysis.report.page import report_of
from orchestrator.analysis.report.sections.published import PublishedRow, studies
from orchestrator.analysis.report.view import View
from orchestrator.metrics import Published
from tests.orchestrator.analysis.made_runs import MadeRun, config, factored_run
from tests.orchestrator.analysis.report.pages import view_of_run, with_sweep


def row_of(view: View, knobs: Mapping[str, object], metric: str) -> PublishedRow:
    """The row of a study with one figure at ``knobs``."""
    data = view.sweep.data
    published = Published(source="a study", knobs=knobs, figures={metric: 0.8}, data=data)
    (study,) = studies(with_sweep(view, published=(published,)))
    (row,) = study.rows
    return row


def test_published_ratios_stand_beside_ours(view: View) -> None:
    (laptop,) = studies(view)
    row = laptop.rows[1]
    assert (row.settings, row.theirs, row.their_ratio) == ("num_workers=3", "44.51 s", "0.55")
    ours = view.trials["metrics.epoch_s"]
    # Of the six configs with 3 workers the one that is otherwise the baseline.
    assert row.our_config == "lr=0.003 batch_size=1000 num_workers=3"
    assert row.our_ratio == f"{ours.iloc[5] / ours.iloc[4]:.2f} (one run each)"
    assert laptop.notes == ["first epoch; ours is the median of all"]


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
    (laptop,) = studies(view_of_run(run))
    assert [row.our_ratio for row in laptop.rows] == ["1.00", text, "", ""]


def test_a_figure_that_was_not_measured_has_no_ratio(view: View) -> None:
    row = row_of(view, {"num_workers": 16}, "val_acc")
    assert (row.ours, row.our_ratio) == ("not measured", "")
    assert row.our_config == "no completed config"


def test_configs_that_differ_in_more_than_the_study_names_have_no_ratio() -> None:
    """The ratio would be of the batch as well."""
    run = MadeRun()
    run.add(config())
    run.add(config(num_workers=3, batch_size=4000))
    (laptop,) = studies(view_of_run(run))
    assert [row.our_ratio for row in laptop.rows] == ["1.00", "", "", ""]
    assert laptop.rows[1].our_config == "lr=0.003 batch_size=4000 num_workers=3"
    assert laptop.rows[1].ours != "not measured"


def test_composed_figures_have_their_sign() -> None:
    (laptop,) = studies(view_of_run(factored_run()))
    signs = {row.settings: row.ours.endswith("†") for row in laptop.rows}
    assert signs == {
        "num_workers=0": True, "num_workers=3": False, "num_workers=6": True, "num_workers=8": True,
    }  # fmt: skip


@pytest.mark.parametrize("metric", ["test_acc", "all_acc"])
def test_a_published_test_figure_stands_beside_that_of_the_config_that_was_tested(
    metric: str, view: View
) -> None:
    tested = view.confirmed["is_recommended"]
    confirmed = view.confirmed.assign(**{f"metrics.{metric}": np.where(tested, 0.7912, np.nan)})
    view = replace(view, confirmed=confirmed)
    row = row_of(view, {"num_workers": 3}, metric)
    assert (row.ours, row.our_config) == ("79.12 %", "lr=0.01 batch_size=4000 num_workers=3")
    row = row_of(view, {"num_workers": 6}, metric)
    assert (row.ours, row.our_ratio) == ("not measured", "")
    assert row.our_config == "test is measured for the recommended config only"


def test_a_setting_that_the_sweep_fixes_otherwise_comes_with_the_options_for_it(
    view: View,
) -> None:
    row = row_of(view, {"dropout": 0.3, "fanouts": [5, 10]}, "epoch_s")
    assert row.ours == "not measured"
    assert row.our_config == (
        "no completed config: the sweep fixes fanouts=10,25 dropout=0.5; "
        "--set fanouts=5,10 --set dropout=0.3 would fill it"
    )
    row = row_of(view, {"dropout": 0.3, "num_workers": 3}, "test_acc")
    assert "--set dropout=0.3 would fill it" in row.our_config


@pytest.mark.parametrize("named", ["ogbn-products", ""], ids=["named", "an earlier version"])
def test_figures_of_another_data_set_are_not_shown(view: View, named: str) -> None:
    """A set stands in for the sweep's in this run: its accuracy says nothing of the study's."""
    figures = {"val_acc": 0.8773}
    published = Published(
        source="a study", knobs={}, figures=figures, note="of 20 epochs", data=named
    )
    sweep = with_sweep(view, published=(published,))
    (study,) = studies(sweep)
    theirs = named or "the sweep's own data set"
    said = f"Its figures are of {theirs}: they are not shown beside those of products-synthetic"
    assert (study.rows, study.notes) == ([], [said])
    page = report_of(sweep).html
    assert "87.73" not in page
    assert "they are not shown beside those of products-synthetic." in page
    assert "Their hardware differs" not in page


def test_advice_without_figures_is_quoted_without_a_table(view: View) -> None:
    advice = Published(source="advice", knobs={"num_workers": 3}, figures={}, note="Use three")
    page = report_of(with_sweep(view, published=(*view.sweep.published, advice))).html
    assert "<h3>advice</h3>" in page
    assert "Use three." in page
    assert '<table aria-label="advice">' not in page
    assert f'<table aria-label="{view.sweep.published[0].source}">' in page
