from __future__ import annotations

import pandas as pd

from analysis.recommend import recommend
from analysis.report import report_html, view_of
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


def test_growth_of_workers_is_a_column_where_it_was_measured() -> None:
    run = products_run()
    assert "worker_growth_mib_per_epoch" not in page_of(run)
    for row in run.rows:
        row["metrics.worker_growth_mib_per_epoch"] = 12.5
    assert "worker_growth_mib_per_epoch" in page_of(run)
