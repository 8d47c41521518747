"""The front on the page, with composed figures, and published ones to compare."""

import json
from collections.abc import Callable, Mapping
from dataclasses import asdict
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from orchestrator.analysis.recommendation.front import LOAD_SIGN, SIGN
from orchestrator.analysis.report.console import summary
from orchestrator.analysis.report.sections.front import front_of, front_table, published_of
from orchestrator.analysis.report.tables import Section
from orchestrator.analysis.report.view import View
from orchestrator.analysis.report.write import write_all
from orchestrator.analysis.tables.load import load_run
from orchestrator.cli import main
from orchestrator.metrics import Published, maximize
from tests.orchestrator.analysis.made_runs import MadeRun, config, factored_run, products_run
from tests.orchestrator.analysis.report.pages import (
    column_of,
    html_of,
    page_of,
    text_of,
    view_of_run,
    with_sweep,
)


def front_in(view: View) -> Section:
    (section,) = (section for section in front_of(view) if section.name == "front")
    return section


def judged(view: View) -> str:
    ((_, lines),) = front_in(view).folded
    return "\n".join(lines)


def test_the_table_has_the_front_the_marked_configs_and_those_that_may_be_the_best(
    view: View,
) -> None:
    table = front_in(view).table
    assert [cell.text for cell in column_of(table, "against the best")] == [
        "best", "unresolved", "unresolved", "worse", "worse", "worse",
    ]  # fmt: skip
    assert [cell.text for cell in column_of(table, "")] == [
        "",
        "",
        "recommended",
        "",
        "",
        "baseline",
    ]
    speeds = [cell.number for cell in column_of(table, "samples_per_s")]
    assert speeds == sorted(speeds, key=lambda speed: -(speed or 0))
    assert column_of(table, "ratio to the best")[3].text == "0.801 (0.755 to 0.863)"
    assert column_of(table, "runs")[2].text == "3 to confirm"


@pytest.mark.parametrize(("low", "words"), [(0.8, {"best", "worse"}), (0.1, {"best", ""})])
def test_a_ratio_that_is_not_known_has_no_verdict(view: View, low: float, words: set[str]) -> None:
    rows = view.shown[view.shown["verdict"].isin(["best", "worse"])]
    lows = rows["ratio_low"].where(rows["verdict"] == "best", low)
    table = front_table(view, rows.assign(ratio_low=lows, ratio_high=lows.where(lows == 1, 0.9)))
    columns = (column_of(table, head) for head in ("against the best", "ratio to the best"))
    known = [(verdict.text, bool(ratio.text)) for verdict, ratio in zip(*columns, strict=True)]
    assert {verdict for verdict, _ in known} == words
    assert all(is_known == bool(verdict) for verdict, is_known in known)


def test_the_lines_count_the_verdicts_and_name_the_noise(view: View) -> None:
    text = judged(view)
    for words in (
        "24 completed configs 12 accurate enough to be ranked: 1 best, 9 worse, 2 unresolved",
        "pooled over 2 repeated configs, confirm runs included; 4 degrees of freedom",
    ):
        assert words in text


@pytest.mark.parametrize(
    ("verdict", "text"),
    [("tied", "within 2 % of the fastest"), ("unresolved", "unresolved"), ("worse", "worse")],
)
def test_a_recommended_config_is_within_the_margin_only_where_that_is_shown(
    verdict: str, text: str, view: View
) -> None:
    rows = view.configs[view.configs["is_recommended"]].assign(verdict=verdict)
    assert column_of(front_table(view, rows), "against the best")[0].text == text


def test_a_speed_under_other_load_is_marked_in_every_front(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    run = MadeRun()
    run.add_runs(config(), [1000.0, 1010.0], **{"metrics.val_acc": 0.95})
    run.add_runs(config(num_workers=3), [1300.0, 1310.0], **{"metrics.val_acc": 0.949})
    load = {"tags.contaminated": "30 % of its cores' time went to other processes"}
    run.add_runs(config(num_workers=8), [1_448.0], **load, **{"metrics.val_acc": 0.948})
    view, folder = view_of_run(run), run.write(tmp_path / "run")
    table = front_table(view, view.shown)
    speed = table.head.index("samples_per_s")
    signs = [LOAD_SIGN in row[speed].text for row in table.rows]
    assert signs == [True, False, False]
    write_all(load_run(folder), folder)
    assert pd.read_csv(folder / "front.csv")["contaminated"].tolist() == signs
    assert "1 of 3 speeds: of runs under other load alone" in text_of(html_of(view))
    assert f"recommended {LOAD_SIGN}" in (folder / "front.svg").read_text()
    assert (folder / "front.svg").read_text().count(">☆<") == 2, "its mark, and the legend's"
    (line,) = (x for x in summary(view.tables, view.findings, run_dir=Path()) if "front:" in x)
    assert f"from 1,448 samples/s {LOAD_SIGN}, " in line
    for words in (["show", str(folder)], ["front", str(folder)]):
        assert main(words) == 0
        text = capsys.readouterr().out
        assert f"1,448 samples/s {LOAD_SIGN}" in text
        assert f"{LOAD_SIGN} 1 of 3 speeds" in text


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
    assert "the settings were trained end to end" in text


def test_without_confirm_runs_the_recommendation_notes_composed_figures(
    tmp_path: Path,
) -> None:
    run = factored_run(confirmed=False)
    run_dir = run.write(tmp_path / "run")
    tables = load_run(run_dir)
    recommendation = write_all(tables, run_dir)
    content = json.loads((run_dir / "recommended.json").read_text())
    assert content["composed"] is True
    assert content["speedup"]["basis"] == "unknown"
    assert content["num_runs"] == {"speed": 3, "accuracy": 2}
    lines = summary(tables, recommendation, run_dir=run_dir)
    (front,) = (line for line in lines if line.startswith("front:"))
    assert front.startswith("front:       3 configs (2 composed), from ")
    (line,) = (line for line in lines if line.startswith("status:"))
    assert line.endswith("(val_acc (composed, 2 curves) 91.49 %)")
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


def test_the_front_names_composed_figures(made: MadeRun, tmp_path: Path) -> None:
    run_dir = made.write(tmp_path / "run")
    write_all(load_run(run_dir), run_dir)
    front = pd.read_csv(run_dir / "front.csv")
    # Two have confirm runs: their figures were measured.
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
    text = text_of((run_dir / "report.html").read_text()) + "\n".join(lines)
    assert "reward" in text
    assert "accura" not in text


SETTING, FIGURE, THEIRS, THEIR_RATIO, OURS, OUR_RATIO, OUR_CONFIG = range(7)


def rows_of(view: View) -> list[list[str]]:
    """The cells of the only study."""
    _, study = published_of(view)
    return [[cell.text for cell in row] for row in study.table.rows] if study.table else []


def row_of(
    view: View, knobs: Mapping[str, object], metric: str, **parts: pd.DataFrame
) -> list[str]:
    """The row of a study with one figure at ``knobs``; ``parts`` take the place of the view's."""
    data = view.sweep.data
    published = Published(source="a study", knobs=knobs, figures={metric: 0.8}, data=data)
    view = with_sweep(view, published=(published,))
    vars(view).update(parts)
    (row,) = rows_of(view)
    return row


def test_published_ratios_are_shown_with_ours(view: View) -> None:
    row = rows_of(view)[1]
    assert row[:OURS] == ["num_workers=3", "epoch_s", "44.51 s", "0.55"]
    ours = view.trials["metrics.epoch_s"]
    # Six configs have 3 workers; this one is otherwise the baseline.
    assert row[OUR_CONFIG] == "lr=0.003 batch_size=1000 num_workers=3"
    assert row[OUR_RATIO] == f"{ours.iloc[5] / ours.iloc[4]:.2f} (one run each)"
    assert published_of(view)[1].notes == ("first epoch; ours is the median of all",)


@pytest.mark.parametrize(
    ("ours", "text"), [([0.5, 0.505, 0.495], "0.50 (0.49 to 0.51)"), ([0.9, 0.3, 0.5], "not known")]
)
def test_our_ratio_has_an_interval_or_is_not_known(ours: list[float], text: str) -> None:
    run = MadeRun()
    for workers, epochs_s in ((0, [1.0, 1.005, 0.995]), (3, ours)):
        for repeat, epoch_s in enumerate(epochs_s):
            cells = {"metrics.epoch_s": epoch_s}
            run.add_runs(config(num_workers=workers), [1000.0], first=repeat, **cells)
    rows = rows_of(view_of_run(run))
    assert [row[OUR_RATIO] for row in rows] == ["1.00", text, "", ""]


def test_configs_that_differ_in_more_than_the_study_names_have_no_ratio() -> None:
    """The ratio would include the effect of the batch."""
    run = MadeRun()
    run.add(config())
    run.add(config(num_workers=3, batch_size=4000))
    rows = rows_of(view_of_run(run))
    assert [row[OUR_RATIO] for row in rows] == ["1.00", "", "", ""]
    assert rows[1][OUR_CONFIG] == "lr=0.003 batch_size=4000 num_workers=3"
    assert rows[1][OURS] != "not measured"


@pytest.mark.parametrize("metric", ["test_acc", "all_acc"])
def test_a_published_test_figure_is_shown_with_that_of_the_tested_config(
    metric: str, view: View
) -> None:
    tested = view.finals["is_recommended"]
    finals = view.finals.assign(**{f"metrics.{metric}": np.where(tested, 0.7912, np.nan)})
    row = row_of(view, {"num_workers": 3}, metric, finals=finals)
    assert (row[OURS], row[OUR_CONFIG]) == ("79.12 %", "lr=0.01 batch_size=4000 num_workers=3")
    row = row_of(view, {"num_workers": 6}, metric, finals=finals)
    assert row[OURS:] == ["not measured", "", "no completed config"]


@pytest.mark.parametrize("named", ["ogbn-products", ""], ids=["named", "an earlier version"])
def test_figures_of_another_data_set_are_not_shown(view: View, named: str) -> None:
    """Another set replaces the sweep's in this run: its accuracy is not the study's."""
    figures = {"val_acc": 0.8773}
    published = Published(
        source="a study", knobs={}, figures=figures, note="of 20 epochs", data=named
    )
    sweep = with_sweep(view, published=(published,))
    _, study = published_of(sweep)
    theirs = named or "the sweep's own data set"
    text = f"its figures are of {theirs}: they are not shown beside those of products-synthetic"
    assert (study.table, study.notes) == (None, (text,))
    page = html_of(sweep)
    assert "87.73" not in page
    assert "they are not shown beside those of products-synthetic." in page
    assert "Their hardware differs" not in page
