from __future__ import annotations

import math

import pandas as pd

from analysis.recommendation.recommend import recommend
from analysis.report import report_html, view_of
from analysis.report.published import PublishedRow, studies
from tests.analysis.made_runs import MadeRun, products_run


def page_of(run: MadeRun) -> str:
    recommendation = recommend(run.trials, run.sweep)
    return report_html(view_of(run.trials, pd.DataFrame(run.curves), run.sweep, recommendation))


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
    recommendation = recommend(run.trials, run.sweep)
    view = view_of(run.trials, pd.DataFrame(run.curves), run.sweep, recommendation)
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


def test_growth_of_workers_is_a_column_where_it_was_measured() -> None:
    run = products_run()
    assert "worker_growth_mib_per_epoch" not in page_of(run).replace("<wbr>", "")
    for row in run.rows:
        row["metrics.worker_growth_mib_per_epoch"] = 12.5
    assert "worker_growth_mib_per_epoch" in page_of(run).replace("<wbr>", "")
