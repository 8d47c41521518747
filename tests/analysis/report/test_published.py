"""Figures of studies beside ours."""

from __future__ import annotations

import math

from analysis.report.published import PublishedRow, studies
from tests.analysis.made_runs import MadeRun, products_run
from tests.analysis.report.pages import page_of, view_of_run


def test_advice_without_figures_is_quoted_without_a_table() -> None:
    run = products_run()
    advice = {"source": "advice", "knobs": {"num_workers": 3}, "figures": {}, "note": "Use three"}
    run.sweep["published"].append(advice)
    page = page_of(run)
    assert "<h3>advice</h3>" in page
    assert "Use three." in page
    assert '<table aria-label="advice">' not in page
    studied = run.sweep["published"][0]["source"]
    assert f'<table aria-label="{studied}">' in page


def rows_beside(run: MadeRun, knobs: dict[str, object], metric: str) -> list[PublishedRow]:
    published = {"source": "a study", "knobs": knobs, "figures": {metric: 0.8}, "note": ""}
    run.sweep["published"] = [published]
    view = view_of_run(run)
    return studies(view)[0].rows


def test_a_published_test_figure_stands_beside_that_of_the_config_that_was_tested() -> None:
    run = products_run()
    for row in run.rows:
        row["metrics.test_acc"] = math.nan
    run.rows[-2]["metrics.test_acc"] = 0.7912  # of the recommended config

    (row,) = rows_beside(run, {"num_workers": 3}, "test_acc")
    assert (row.ours, row.our_config) == ("79.12 %", "lr=0.01 batch_size=4000 num_workers=3")
    (row,) = rows_beside(run, {"num_workers": 6}, "test_acc")
    assert (row.ours, row.our_ratio) == ("not measured", "")
    assert row.our_config == "test is measured for the recommended config only"


def test_a_published_row_that_the_sweep_fixes_otherwise_says_how_to_fill_it() -> None:
    (row,) = rows_beside(products_run(), {"dropout": 0.3, "fanouts": [5, 10]}, "epoch_s")
    assert row.ours == "not measured"
    assert row.our_config == (
        "no completed config: the sweep fixes fanouts=10,25 dropout=0.5; "
        "--set fanouts=5,10 --set dropout=0.3 would fill it"
    )
    (row,) = rows_beside(products_run(), {"dropout": 0.3, "num_workers": 3}, "test_acc")
    assert "--set dropout=0.3 would fill it" in row.our_config
    (row,) = rows_beside(products_run(), {"num_workers": 16}, "epoch_s")
    assert row.our_config == "no completed config"


def test_published_ratios_stand_beside_ours() -> None:
    run = products_run()
    run.sweep["published"].append(
        {"source": "other", "knobs": {"num_workers": 16}, "figures": {"val_acc": 0.9}, "note": ""}
    )
    view = view_of_run(run)
    laptop, other = studies(view)
    row = laptop.rows[1]
    assert (row.settings, row.theirs, row.their_ratio) == ("num_workers=3", "44.51 s", "0.55")
    ours = run.trials.set_index("trial_id")["metrics.epoch_s"]
    # Of the six configs with 3 workers the one that is otherwise the baseline.
    assert row.our_config == "lr=0.003 batch_size=1000 num_workers=3"
    assert row.our_ratio == f"{ours.iloc[5] / ours.iloc[4]:.2f}"
    assert (other.rows[0].ours, other.rows[0].our_ratio) == ("not measured", "")
