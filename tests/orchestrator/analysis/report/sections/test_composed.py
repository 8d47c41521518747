"""Composed figures in the report: marked, counted, and beside those of confirm runs."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import asdict
from pathlib import Path

import pandas as pd
import pytest

from orchestrator.analysis.recommendation.front import SIGN
from orchestrator.analysis.report.sections.front import front_table
from orchestrator.analysis.report.summary import summary
from orchestrator.analysis.report.write import write_all
from orchestrator.analysis.tables.load import load_run
from orchestrator.metrics import maximize
from tests.orchestrator.analysis.made_runs import MadeRun, factored_run, products_run
from tests.orchestrator.analysis.report.pages import page_of, text_of, view_of_run


@pytest.fixture(scope="module")
def made() -> MadeRun:
    return factored_run()


def test_composed_figures_of_the_front_have_the_sign_and_measured_ones_have_not(
    made: MadeRun,
) -> None:
    view = view_of_run(made)
    table = front_table(view, view.configs)
    speed, accuracy = (table.head.index(name) for name in ("samples_per_s", "val_acc"))
    signs = [[SIGN in row[column].text for row in table.rows] for column in (speed, accuracy)]
    assert signs[0] == signs[1]
    assert {*signs[0]} == {True, False}
    assert table.rows[0][table.head.index("runs")].text == "3 probes, 2 curves"
    assert table.head.count("95 % interval") == 2


def test_the_page_has_a_legend_counts_and_the_measured_figures(made: MadeRun) -> None:
    text = text_of(page_of(made))
    assert f"{SIGN} composed: speed from probes of the config's setting" in text
    assert (
        "Of 24 configs 20 have a speed and a final accuracy; the curves of 4 were stopped" in text
    )
    assert "Selected by composed figures, speed from 3 probes, accuracy from 2 curves" in text


def test_without_confirm_runs_the_recommendation_says_that_its_figures_are_composed(
    tmp_path: Path,
) -> None:
    run = factored_run(confirmed=False)
    run_dir = run.write(tmp_path / "run")
    tables = load_run(run_dir)
    recommendation = write_all(tables, run_dir)
    content = json.loads((run_dir / "recommended.json").read_text())
    assert content["composed"] is True
    assert content["speedup"]["basis"] == "searching"
    assert content["num_runs"] == {"speed": 3, "accuracy": 2}
    lines = summary(tables, recommendation, run_dir=run_dir)
    (front,) = (line for line in lines if line.startswith("front:"))
    assert front.startswith("front:       3 configs (2 composed), from ")
    (line,) = (line for line in lines if line.startswith("status:"))
    assert line.endswith("composed: speed of 3 probes, accuracy of 2 curves)")
    assert "(composed, 2 curves)" in text_of((run_dir / "report.html").read_text())


def test_confirm_runs_of_speed_alone_leave_the_accuracy_composed() -> None:
    run = factored_run()
    run.rows.pop()
    view = view_of_run(run)
    assert view.findings.composed
    assert view.findings.num_runs == {"speed": 3, "accuracy": 2}
    row = view.configs[view.configs["is_recommended"]].iloc[0]
    assert view.findings.figures["val_acc"] == pytest.approx(row["metrics.val_acc"])
    assert view.findings.figures["samples_per_s"] != row["metrics.samples_per_s"]


def test_the_whole_table_is_written(made: MadeRun, tmp_path: Path) -> None:
    run_dir = made.write(tmp_path / "run")
    write_all(load_run(run_dir), run_dir)
    table = pd.read_parquet(run_dir / "composed.parquet")
    assert table["state"].value_counts().to_dict() == {"completed": 20, "stopped": 4}
    assert int(table["on_front"].sum()) == 3
    assert table["composed"].dtype == bool
    text = pd.read_csv(run_dir / "composed.csv")
    assert list(text.columns) == list(table.columns)
    front = pd.read_csv(run_dir / "front.csv")
    # Two have confirm runs, whose figures were measured.
    assert front["composed"].tolist() == [False, True, False]


@pytest.mark.parametrize("made_of", [factored_run, products_run])
def test_words_are_those_of_the_metric(made_of: Callable[[], MadeRun], tmp_path: Path) -> None:
    run, named = made_of(), {"val_acc": "reward", "test_acc": "test_reward"}
    for row in (*run.rows, *run.curves):
        for name in [name for name in row if name.startswith("metrics.")]:
            for old, new in named.items():
                if name.startswith(f"metrics.{old}"):
                    row[name.replace(old, new)] = row.pop(name)
    objectives = (maximize("samples_per_s"), maximize("reward", tolerance=0.005))
    run.sweep |= {"objectives": [asdict(each) for each in objectives], "question": "Which?"}
    run_dir = run.write(tmp_path / "run")
    tables = load_run(run_dir)
    lines = summary(tables, write_all(tables, run_dir), run_dir=run_dir)
    said = text_of((run_dir / "report.html").read_text()) + "\n".join(lines)
    assert "reward" in said
    assert "accura" not in said
