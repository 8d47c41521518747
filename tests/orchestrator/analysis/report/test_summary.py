"""The last lines of a run."""

from __future__ import annotations

from pathlib import Path

import pytest

from orchestrator.analysis.findings.findings import findings
from orchestrator.analysis.report.summary import MAX_LINES, summary
from orchestrator.analysis.report.view import View
from orchestrator.analysis.tables.run_tables import RunTables
from tests.orchestrator.analysis.made_runs import (
    MadeRun,
    config,
)

RUN_DIR = Path("runs/products_loader/1")


def lines_of(run: MadeRun) -> list[str]:
    tables = run.tables
    return summary(tables, findings(tables), run_dir=RUN_DIR)


def test_a_whole_run_in_few_lines(tables: RunTables, view: View) -> None:
    lines = summary(tables, view.findings, run_dir=RUN_DIR)
    assert len(lines) == MAX_LINES
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


def test_a_run_of_which_nothing_completed_says_so_and_why() -> None:
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
