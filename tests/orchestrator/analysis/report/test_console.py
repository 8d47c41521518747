"""Tables on the terminal."""

from __future__ import annotations

from pathlib import Path

import pytest

from orchestrator.analysis.comparison.compare import compare
from orchestrator.analysis.findings.findings import findings
from orchestrator.analysis.report.console import MAX_ROWS, show_comparison, show_front, show_run
from orchestrator.analysis.report.view import View
from orchestrator.analysis.tables.run_tables import RunTables
from orchestrator.metrics import maximize
from tests.orchestrator.analysis.comparison.drawn import run_of
from tests.orchestrator.analysis.made_runs import (
    MadeRun,
    config,
    products_run,
)

RUN_DIR = Path("runs/products_loader/1")


@pytest.fixture(autouse=True)
def narrow(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "80")


def test_a_run_is_printed_with_its_answer_first_and_its_front_last(
    tables: RunTables, view: View, capsys: pytest.CaptureFixture[str]
) -> None:
    show_run(tables, view.findings, RUN_DIR)
    text = capsys.readouterr().out
    assert view.findings.sentence in text.splitlines()[0]
    assert f"report:      {RUN_DIR / 'report.html'}" in text
    assert "products_loader: the front of samples_per_s (maximize) and val_acc" in text
    assert "95 % intervals: between runs, spread pooled over configs" in text.splitlines()[-1]


def test_a_front_can_be_read_at_80_columns(
    tables: RunTables, capsys: pytest.CaptureFixture[str]
) -> None:
    ranked = tables.ranked[tables.ranked["on_front"]]
    show_front(ranked, tables.sweep.objectives, tables.sweep)
    text = capsys.readouterr().out
    words = text.split()
    assert max(map(len, text.splitlines())) <= 80
    assert "…" not in text
    assert {"batch_size=4000", "num_workers=8", "lr=0.003"} <= set(words), "no knob is cut"
    assert "prefetch_factor" not in text, "all have the same"


def test_an_empty_front_says_what_was_not_measured(
    tables: RunTables, capsys: pytest.CaptureFixture[str]
) -> None:
    show_front(tables.ranked[:0], [maximize("gpu_util")], tables.sweep)
    assert capsys.readouterr().out == (
        "products_loader: no config completed with gpu_util (maximize)\n"
    )


def test_a_long_front_is_cut_and_says_where_the_rest_is(
    capsys: pytest.CaptureFixture[str],
) -> None:
    run = MadeRun()
    for number in range(MAX_ROWS + 2):
        figures = {"metrics.samples_per_s": 1000.0 + number, "metrics.val_acc": 0.9 - number / 1e4}
        run.add(config(lr=0.001 + number / 1e4), **figures)
    tables = run.tables
    show_run(tables, findings(tables), RUN_DIR)
    assert f"... and 2 more in {RUN_DIR / 'front.csv'}" in capsys.readouterr().out


def test_a_comparison_begins_with_its_verdict_and_can_be_read_at_80_columns(
    capsys: pytest.CaptureFixture[str],
) -> None:
    first, second = run_of(1, repeats=5), run_of(2, repeats=5, factor=0.7)
    show_comparison(compare(first, second))
    text = capsys.readouterr().out
    assert text.startswith("regression in samples_per_s: num_workers=6 (train) is 0.7")
    table = text[text.index("samples_per_s, second over first") :]
    assert max(map(len, table.splitlines())) <= 80
    assert "regression" in table
    assert "num_workers=6" in table
    assert "…" not in table


def test_a_ratio_whose_error_is_not_known_is_not_printed(
    capsys: pytest.CaptureFixture[str],
) -> None:
    show_comparison(compare(run_of(1, repeats=1), run_of(2, repeats=1)))
    text = capsys.readouterr().out
    assert text.splitlines()[0].endswith("is not known: too few runs")
    assert text.count("not known") == 9


def test_a_comparison_is_printed_with_its_conditions(capsys: pytest.CaptureFixture[str]) -> None:
    first, second = products_run(), products_run(seed=1)
    for row in second.rows[:3]:
        row["device"] = "H200"
    show_comparison(compare(first.tables, second.tables))
    text = capsys.readouterr().out
    assert "in common, all 21 configs together (train) are" in text
    assert "not compared, 3 times: device: cpu and H200" in text
