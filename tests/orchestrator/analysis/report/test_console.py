"""The last lines of a run, and tables on the terminal."""

from pathlib import Path

import pytest

from orchestrator.analysis.comparison.compare import compare
from orchestrator.analysis.findings.findings import findings
from orchestrator.analysis.report.console import (
    MAX_ROWS,
    show_comparison,
    show_front,
    show_run,
    summary,
)
from orchestrator.analysis.report.view import View
from orchestrator.analysis.tables.run_tables import RunTables
from orchestrator.metrics import maximize
from tests.orchestrator.analysis.comparison.drawn import run_of
from tests.orchestrator.analysis.made_runs import MadeRun, config, products_run

RUN_DIR = Path("runs/products_loader/1")


def lines_of(run: MadeRun) -> list[str]:
    tables = run.tables
    return summary(tables, findings(tables), run_dir=RUN_DIR)


def test_a_whole_run_in_few_lines(tables: RunTables, view: View) -> None:
    lines = summary(tables, view.findings, run_dir=RUN_DIR)
    assert len(lines) == 8
    assert lines[0] == f"products_loader: {view.findings.sentence}"
    assert lines[1].startswith("status:      confirmed: 3 pairs of confirm runs  (val_acc 91.45 %")
    assert lines[2] == (
        "settings:    batch_size=4000 (baseline 1000)  num_workers=3 (baseline 0)  "
        "lr=0.01 (baseline 0.003)"
    )
    assert lines[3] == "trials:      35: 30 completed, 1 stopped, 2 infeasible, 1 failed, 1 not run"
    assert "ogbn-products is not under data; running on products-synthetic instead" in lines[4]
    assert "3 configs, from 24,544 samples/s, val_acc 91.57 % to 16,262 samples/s" in lines[5]
    assert lines[6].startswith("warning:     other load: 1 of 31 runs disturbed; edge of range: ")
    assert str(RUN_DIR / "report.html") in lines[7]


@pytest.mark.parametrize("width", [80, 40])
def test_on_a_terminal_every_line_fits_and_loses_no_word(tables: RunTables, width: int) -> None:
    found = findings(tables)
    whole = summary(tables, found, run_dir=RUN_DIR)
    lines = summary(tables, found, run_dir=RUN_DIR, width=width)
    assert " ".join(lines).split() == " ".join(whole).split()
    assert all(len(line) <= width for line in lines if len(line.split()) > 1)
    assert lines[1].startswith(" " * 13)


@pytest.mark.parametrize(("metric", "figure"), [("val_auc", "91."), ("my_score", "0.91")])
def test_the_status_has_the_accuracy_whatever_it_is_called(metric: str, figure: str) -> None:
    run = MadeRun()
    run.sweep["objectives"][1]["metric"] = metric
    run.add(config(), **{f"metrics.{metric}": 0.912})
    (line,) = (line for line in lines_of(run) if line.startswith("status:"))
    assert f"({metric} {figure}" in line


def test_a_run_without_completed_trials_gives_the_reason() -> None:
    run = MadeRun()
    for ranks in (2, 4):
        run.add(config(ranks=ranks), state="infeasible", reason="needs more GPUs than there are")
    lines = lines_of(run)
    assert lines[0].startswith(
        "products_loader: no settings can be recommended: no trial completed (2 infeasible; "
    )
    assert "trials:      2: 2 infeasible (needs more GPUs than there are)" in lines
    assert any(line.startswith("front:       none") for line in lines)
    assert not any(line.startswith(("status:", "settings:")) for line in lines)


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


def test_an_empty_front_names_what_was_not_measured(
    tables: RunTables, capsys: pytest.CaptureFixture[str]
) -> None:
    show_front(tables.ranked[:0], [maximize("gpu_util")], tables.sweep)
    assert capsys.readouterr().out == (
        "products_loader: no config completed with gpu_util (maximize)\n"
    )


def test_a_long_front_is_cut_and_names_the_rest(capsys: pytest.CaptureFixture[str]) -> None:
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


def test_a_ratio_without_a_known_error_is_not_printed(
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
    assert "in common, all 20 configs together (train) are" in text
    assert "not compared, 3 times: device: cpu and H200" in text
