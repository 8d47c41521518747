"""The last lines of a run."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from analysis.recommendation.recommend import recommend
from analysis.report.summary import MAX_LINES, summary
from analysis.report.view import View
from analysis.tables.run_tables import RunTables
from tests.analysis.made_runs import MadeRun, config, partly_contaminated_run, products_run

RUN_DIR = Path("runs/products_loader/1")


def lines_of(run: MadeRun) -> list[str]:
    tables = run.tables
    return summary(tables, recommend(tables), run_dir=RUN_DIR)


def test_a_whole_run_in_few_lines(tables: RunTables, view: View) -> None:
    lines = summary(tables, view.recommendation, run_dir=RUN_DIR)
    assert len(lines) <= MAX_LINES
    text = "\n".join(lines)
    assert "35 trials: 30 completed, 1 stopped, 2 infeasible, 1 failed, 1 not run" in lines[0]
    assert "ogbn-products is not under data; running on products-synthetic instead" in lines[1]
    assert "3 configs, from 24,544 samples/s, val_acc 91.57 % to 16,262 samples/s" in text
    assert "recommended: lr=0.01 batch_size=4000 num_workers=3" in text
    assert "3.86x the baseline's speed, 95 % interval 3.75x to 3.99x" in text
    assert str(RUN_DIR / "report.html") in lines[-1]
    assert not any(line.startswith("watched:") for line in lines)


@pytest.mark.parametrize(("metric", "figure"), [("val_auc", "91."), ("my_score", "0.91")])
def test_the_recommended_line_has_the_accuracy_whatever_it_is_called(
    metric: str, figure: str
) -> None:
    run = MadeRun()
    run.sweep["objectives"][1]["metric"] = metric
    run.add(config(), **{f"metrics.{metric}": 0.912})
    (line,) = (line for line in lines_of(run) if line.startswith("recommended:"))
    assert f"({metric} {figure}" in line


def test_without_a_stand_in_there_is_no_data_line(tables: RunTables, view: View) -> None:
    asked = replace(tables, sweep=replace(tables.sweep, data_note=""))
    lines = summary(asked, view.recommendation, run_dir=RUN_DIR)
    assert not any(line.startswith("data:") for line in lines)


def test_a_run_of_which_nothing_completed_says_so_and_why() -> None:
    run = MadeRun()
    for ranks in (2, 4):
        run.add(config(ranks=ranks), state="infeasible", reason="needs more GPUs than there are")
    text = "\n".join(lines_of(run))
    assert "2 trials: 2 infeasible (needs more GPUs than there are)" in text
    assert "front:       none" in text
    assert "recommended: none: no trial completed" in text


def test_an_interrupted_run_without_a_row_has_a_first_line() -> None:
    run = MadeRun()
    run.add(config())
    empty = RunTables(trials=run.trials.iloc[:0], sweep=run.record)
    recommendation = recommend(empty)
    lines = summary(empty, recommendation, run_dir=RUN_DIR)
    assert lines[0] == "products_loader: 0 trials"


def test_a_machine_that_becomes_slower_has_a_line() -> None:
    run = products_run()
    confirm = [row for row in run.rows if row["stage"] == "confirm"]
    for position, row in enumerate(confirm):
        row["metrics.samples_per_s"] *= 1 - 0.05 * position
    lines = lines_of(run)
    assert any(line.startswith("watched:     the machine became slower by") for line in lines)
    assert len(lines) <= MAX_LINES


def test_the_recommended_line_says_of_how_many_runs_its_figures_are_where_that_differs() -> None:
    (line,) = (li for li in lines_of(partly_contaminated_run()) if li.startswith("recommended:"))
    assert line.endswith("(val_acc 89.90 %, accuracy of 3 runs, speed of 2)")
