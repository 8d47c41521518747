"""Tables on the terminal."""

from __future__ import annotations

from pathlib import Path

import pytest

from analysis.comparison.compare import compare
from analysis.recommendation.recommend import recommend
from analysis.report.console import MAX_ROWS, show_comparison, show_run
from analysis.report.view import View
from analysis.tables.run_tables import RunTables
from tests.analysis.made_runs import MadeRun, config, partly_contaminated_run, products_run

RUN_DIR = Path("runs/products_loader/1")


def test_a_run_s_front_is_printed_with_its_verdicts(
    tables: RunTables, view: View, capsys: pytest.CaptureFixture[str]
) -> None:
    show_run(tables, view.recommendation, RUN_DIR)
    text = capsys.readouterr().out
    assert "products_loader: the front" in text
    assert "lr=0.01 batch_size=4000 num_workers=3" in text
    assert "95 % intervals: between runs, spread pooled over configs" in text
    assert "recommended: " in text


def test_a_long_front_is_cut_and_says_where_the_rest_is(
    capsys: pytest.CaptureFixture[str],
) -> None:
    run = MadeRun()
    for number in range(MAX_ROWS + 2):
        figures = {"metrics.samples_per_s": 1000.0 + number, "metrics.val_acc": 0.9 - number / 1e4}
        run.add(config(lr=0.001 + number / 1e4), **figures)
    tables = run.tables
    show_run(tables, recommend(tables), RUN_DIR)
    assert f"... and 2 more in {RUN_DIR / 'front.csv'}" in capsys.readouterr().out


def test_a_comparison_is_printed_with_its_conditions(capsys: pytest.CaptureFixture[str]) -> None:
    first, second = products_run(), products_run(seed=1)
    for row in second.rows[:3]:
        row["device"] = "H200"
    show_comparison(compare(first.tables, second.tables), first.record)
    text = capsys.readouterr().out
    assert "samples_per_s, second over first" in text
    assert "in common, train: the 21 configs together" in text
    assert "not compared, 3 times: device: cpu and H200" in text


def test_the_front_counts_runs_where_accuracies_are_of_more_than_speeds(
    tables: RunTables, view: View, capsys: pytest.CaptureFixture[str]
) -> None:
    mixed = partly_contaminated_run().tables
    show_run(mixed, recommend(mixed), RUN_DIR)
    assert "2 (accuracy 3)" in capsys.readouterr().out
    show_run(tables, view.recommendation, RUN_DIR)
    assert "runs" not in capsys.readouterr().out.splitlines()[2]
