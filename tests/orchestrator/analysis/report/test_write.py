"""Files that the analysis leaves in a run directory."""

from __future__ import annotations

import json
from pathlib import Path

import pandas as pd
import pytest

from orchestrator.analysis.findings.findings import findings
from orchestrator.analysis.report.console import summary
from orchestrator.analysis.report.view import View
from orchestrator.analysis.report.write import MAX_NOTES, MAX_ROWS, answer_markdown, write_all
from orchestrator.analysis.tables.run_tables import RunTables
from tests.orchestrator.analysis.findings.runs import confirmed
from tests.orchestrator.analysis.made_runs import SPEED, MadeRun, config, content_of, products_run


def test_the_files_are_written_from_the_tables_alone(made: MadeRun, run_dir: Path) -> None:
    before = {path: path.read_bytes() for path in run_dir.iterdir()}
    write_all(made.tables, run_dir)
    assert all(path.read_bytes() == content for path, content in before.items())
    written = {path.name for path in run_dir.iterdir()} - {path.name for path in before}
    assert written == {
        "answer.md", "figures", "front.csv", "front.svg", "recommended.json", "report.html",
    }  # fmt: skip
    content = json.loads((run_dir / "recommended.json").read_text())
    assert content == content_of(made.tables)
    assert content["config"]["num_workers"] == 3
    assert (run_dir / "front.svg").read_text().startswith("<svg")

    front = pd.read_csv(run_dir / "front.csv", dtype={"trial_ids": str})
    assert front["params.num_workers"].tolist() == [8, 3, 8]
    assert {c for c in made.trials if str(c).startswith("params.")} <= {*front.columns}
    row = made.trials[made.trials["trial_id"] == front["trial_ids"][0]].iloc[0]
    assert front["metrics.samples_per_s"][0] == pytest.approx(row["metrics.samples_per_s"])


@pytest.mark.parametrize(
    "metrics",
    [("samples_per_s", "my_score"), ("my_speed", "my_score"),
     ("samples_per_s", "val_acc", "my_score")],
    ids=" ".join,
)  # fmt: skip
def test_a_run_in_which_no_trial_reported_an_objective_has_all_files_and_names_it(
    metrics: tuple[str, ...], tmp_path: Path
) -> None:
    run = products_run()
    run.sweep["objectives"] = [{"metric": metric, "goal": "maximize"} for metric in metrics]
    missing = [metric for metric in metrics if metric.startswith("my_")]

    found = write_all(run.tables, tmp_path)

    assert found.config is None
    text = "\n".join(summary(run.tables, found, run_dir=Path("run")))
    said = f"no completed trial has reported {' and '.join(missing)}"
    assert found.why.startswith(said)
    assert f"no settings can be recommended: {said}" in text
    assert said[1:] in (tmp_path / "report.html").read_text(encoding="utf-8")
    assert (tmp_path / "front.svg").stat().st_size > 0


def test_a_name_of_any_metric_gives_a_file_with_every_digit(tmp_path: Path) -> None:
    run = MadeRun()
    run.sweep["objectives"][1]["metric"] = "val/acc"
    for workers, speed in ((0, 1000.12345678), (3, 2000.0)):
        run.add(config(num_workers=workers), **{SPEED: speed, "metrics.val/acc": 0.9})
    for _ in range(2):  # a second report replaces the first
        write_all(run.tables, tmp_path)
    written = sorted(path.name for path in (tmp_path / "figures").iterdir())
    assert "effects-samples-per-s.csv" in written
    assert "1000.12345678" in (tmp_path / "figures/speed-accuracy.csv").read_text()


# -- answer.md


def markdown(tables: RunTables) -> str:
    return answer_markdown(View(tables=tables))


def rows_of_table(text: str) -> list[list[str]]:
    lines = [line for line in text.splitlines() if line.startswith("|")]
    return [[cell.strip() for cell in line.strip("|").split("|")] for line in lines]


@pytest.fixture(scope="module")
def text(tables: RunTables) -> str:
    return markdown(tables)


def test_the_sentence_comes_first_then_the_data(tables: RunTables, text: str) -> None:
    first, second, *_ = text.split("\n\n")
    assert first == f"**{findings(tables).sentence}.**"
    assert "running on products-synthetic" in second


def test_the_table_has_the_recommended_config_the_baseline_and_the_front(text: str) -> None:
    heads, _, *rows = rows_of_table(text)
    assert heads[:5] == ["", "lr", "batch_size", "num_workers", "samples_per_s"]
    assert [row[0] for row in rows if row[0]] == ["recommended", "baseline"]
    assert ["recommended", "0.01", "4000", "3"] in [row[:4] for row in rows]


def long_front(number: int) -> MadeRun:
    """Return a run of as many configs on the front: the faster, the less accurate."""
    run = MadeRun()
    run.add_runs(config(), [900.0], **{"metrics.val_acc": 0.95})
    for place in range(number):
        figures = {"metrics.val_acc": 0.95 - 0.001 * place}
        run.add_runs(config(num_workers=place + 1), [1000.0 + 100 * place], **figures)
    return run


def test_of_a_long_front_the_rows_nearest_to_the_recommended_config_are_shown() -> None:
    text = markdown(long_front(12).tables)
    _, _, *rows = rows_of_table(text)
    # Within 0.5 points of the best, 95 %: the sixth, of which the two on either side are shown.
    workers = rows_of_table(text)[0].index("num_workers")
    assert [row[workers] for row in rows] == ["8", "7", "6", "5", "4", "0"]
    assert len(rows) == MAX_ROWS + 1
    assert "Of the 12 configs of the front" in text


def test_notes_above_the_most_are_counted() -> None:
    run = confirmed([500.0, 4000.0], [1000.0, 300.0], isolation="shared")
    run.sweep["cuts"] = [f"the budget left no room for {number}" for number in range(9)]
    text = markdown(run.tables)
    assert "differ by more than a factor of 1.5.\n- The budget left no room for 0." in text
    assert text.count("\n- ") == MAX_NOTES + 1
    assert text.endswith("more notes in the report.\n")


def test_a_value_with_a_bar_does_not_break_the_table() -> None:
    run = MadeRun()
    run.add_runs(config(), [900.0])
    run.add_runs(config(allocator="a|b"), [1000.0])
    heads, _, *rows = rows_of_table(markdown(run.tables))
    assert {len(row) for row in rows} == {len(heads)}
