"""Files that the analysis writes to a run directory, and the first screen of the page."""

import ast
import json
from dataclasses import replace
from pathlib import Path

import pandas as pd
import pytest

from orchestrator.analysis.findings.findings import findings
from orchestrator.analysis.knobs.of_run import asked_figures
from orchestrator.analysis.report.console import summary
from orchestrator.analysis.report.first_screen import first_screen, numbers_of, to_copy
from orchestrator.analysis.report.view import View
from orchestrator.analysis.report.write import MAX_NOTES, MAX_ROWS, answer_markdown, write_all
from orchestrator.analysis.tables.run_tables import RunTables
from tests.orchestrator.analysis.findings.runs import FAST, confirmed
from tests.orchestrator.analysis.made_runs import (
    SPEED,
    MadeRun,
    config,
    content_of,
    partly_contaminated_run,
    products_run,
)
from tests.orchestrator.analysis.report.pages import html_of, text_of, view_of_run


def test_the_files_are_written_from_the_tables_alone(made: MadeRun, run_dir: Path) -> None:
    before = {path: path.read_bytes() for path in run_dir.iterdir()}
    write_all(made.tables, run_dir)
    assert all(path.read_bytes() == content for path, content in before.items())
    written = {path.name for path in run_dir.iterdir()} - {path.name for path in before}
    assert written == {
        "answer.md", "front.csv", "front.svg", "recommended.json", "report.html",
        "speeds.csv",
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
    reason = f"no completed trial has reported {' and '.join(missing)}"
    assert found.why.startswith(reason)
    assert f"no settings can be recommended: {reason}" in text
    assert reason[1:] in (tmp_path / "report.html").read_text(encoding="utf-8")
    assert (tmp_path / "front.svg").stat().st_size > 0


def test_a_metric_of_any_name_is_written_with_every_digit(tmp_path: Path) -> None:
    run = MadeRun()
    run.sweep["objectives"][1]["metric"] = "val/acc"
    for workers, speed in ((0, 1000.12345678), (3, 2000.0)):
        run.add(config(num_workers=workers), **{SPEED: speed, "metrics.val/acc": 0.9})
    for _ in range(2):  # a second report replaces the first
        write_all(run.tables, tmp_path)
    assert "1000.12345678" in (tmp_path / "speeds.csv").read_text()


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


def figures_of(view: View) -> list[tuple[str, tuple[str, ...]]]:
    return [(number.figure, number.under) for number in numbers_of(view.findings)]


def test_a_confirmed_speed_up_is_shown_with_its_interval(view: View) -> None:
    assert view.findings.status.symbol == "✔"
    assert first_screen(view)["basis"] == "3 pairs of confirm runs, which did not select"
    (speedup, accuracy, cost) = figures_of(view)
    assert speedup == ("3.86\N{MULTIPLICATION SIGN}", ("95 % interval 3.75 to 3.99",))
    assert accuracy[0] == "\N{MINUS SIGN}0.13 points"
    assert accuracy[1][1] == "91.45 %, baseline 91.57 %"
    assert cost[1] == (
        "saves 2.5 s an epoch: paid back after 110 epochs", "peak memory 1.95 GiB, baseline 0.9",
    )  # fmt: skip


def test_a_factor_that_is_not_known_is_not_shown() -> None:
    run = confirmed([500.0, 4000.0], [1000.0, 300.0])
    view = view_of_run(run)
    assert figures_of(view)[0] == ("not known", (view.findings.why_not_known,))
    assert (view.findings.status.symbol, first_screen(view)["basis"]) == ("?", "")
    assert "\N{MULTIPLICATION SIGN}" not in text_of(html_of(view)).split("Speed against")[0]


def test_a_busy_machine_has_a_banner_and_no_factor() -> None:
    cells = {"tags.contaminated": "40 % of its cores' time", "metrics.foreign_share": 0.4}
    run = confirmed([27_570.0, 27_600.0, 27_580.0], [1000.0, 1001.0, 1002.0], **cells)
    view = view_of_run(run)
    assert figures_of(view)[0] == (
        "not known", ("other load disturbed 3 of 3 pairs of confirm runs",),
    )  # fmt: skip
    page = text_of(html_of(view))
    assert "A busy machine. Other load: 8 of 8 runs disturbed, where others took 40 %" in page
    assert "27.5" not in page.split("To train")[0]


def test_the_baseline_itself_has_its_accuracy_and_no_factor() -> None:
    run = MadeRun()
    run.add_runs(config(), [1000.0, 1001.0])
    run.add_runs(FAST, [700.0, 701.0])
    view = view_of_run(run)
    speedup, accuracy, cost = figures_of(view)
    assert cost[1] == ("peak memory 1 GiB",)
    assert speedup == ("none", ("the baseline itself is recommended",))
    assert accuracy[0] == "90.00 %"
    assert first_screen(view)["changed"] == []
    assert "Every setting stays as in the baseline." in html_of(view)


def test_figures_have_their_number_of_runs_where_that_differs(view: View) -> None:
    mixed = view_of_run(partly_contaminated_run())
    assert [name for name, *_ in first_screen(mixed)["figures"]] == [
        "samples_per_s (2 runs)", "val_acc (3 runs)",
    ]  # fmt: skip
    assert [name for name, *_ in first_screen(view)["figures"]] == [
        "samples_per_s", "val_acc", "test_acc",
    ]  # fmt: skip


def test_only_the_settings_that_changed_are_shown_with_the_baselines_value(view: View) -> None:
    first = first_screen(view)
    changed = {name: (value, baseline) for _, name, value, baseline in first["changed"]}
    assert changed == {
        "batch_size": ("4000", "1000"), "num_workers": ("3", "0"), "lr": ("0.01", "0.003"),
    }  # fmt: skip
    assert {name for _, name, _ in first["same"]} == {*config()} - {*changed}


def test_every_form_to_copy_has_the_whole_config(view: View) -> None:
    parts = to_copy(replace(view, run_dir=Path("runs/my sweep/1"))).values()
    command, content, code, again = map(" ".join, parts)
    asked = config(lr=0.01, batch_size=4000, num_workers=3)
    assert json.loads(content) == {**asked, "fanouts": [10, 25]}
    assert ast.literal_eval(code.removeprefix("config = ")) == asked
    assert command.endswith("train 'runs/my sweep/1' --save model.pt")
    assert again == (
        "python -m orchestrator sweeps/products_loader.py --set lr=0.01 --set batch_size=4000 "
        "--set num_workers=3"
    )


def test_every_objective_is_in_the_sentence_the_numbers_and_the_effects() -> None:
    run = products_run()
    run.sweep["objectives"].append({"metric": "peak_rss_gib", "goal": "minimize", "bound": 4})
    found = findings(run.tables)
    assert "; peak_rss_gib 1.95 GiB (baseline 0.9 GiB)" in found.sentence
    assert [n.figure for n in numbers_of(found) if n.label == "peak_rss_gib"] == ["1.95 GiB"]
    assert "peak_rss_gib" in {figures.metric for figures in asked_figures(run.tables)}
