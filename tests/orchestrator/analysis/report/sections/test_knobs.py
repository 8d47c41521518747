"""The page's section on knobs: effects, and their words."""

import math
import re
from pathlib import Path

import pytest

from orchestrator.analysis.report.sections.effects import (
    ALIKE,
    MAX_ROWS,
    OPEN,
    effect_text,
    effects_of,
    ends_text,
    legend_of,
    main_effects,
    outcome_of,
    word_of,
)
from orchestrator.analysis.report.view import View
from orchestrator.analysis.rule import Rule
from orchestrator.metrics import maximize, minimize
from tests.orchestrator.analysis.made_runs import MadeRun, config
from tests.orchestrator.analysis.report.edge_runs import FASTER, MORE_KNOBS, random_run
from tests.orchestrator.analysis.report.pages import view_of_run


def ignoring_lr() -> MadeRun:
    """A run of one thing at a time: only the fast config has another lr; no speed depends on it."""
    run = MadeRun()
    run.add_runs(config(), [1000.0, 1010.0])
    run.add_runs(config(num_workers=3), [1500.0, 1510.0])
    run.add_runs(config(lr=0.01, num_workers=3), [1500.0, 1490.0])
    return run


def test_a_knob_is_judged_by_the_configs_that_differ_in_it_alone() -> None:
    """Medians over all configs would show an lr of 0.01 as faster."""
    view = view_of_run(ignoring_lr())
    section = effects_of(view)
    rows = {(row[0].text, row[2].text): row for row in section.table.rows}
    assert set(rows) == {("num_workers", "samples_per_s"), ("lr", "val_acc")}
    workers = rows["num_workers", "samples_per_s"]
    assert workers[1].text == "0 → 3"
    assert workers[3].number == pytest.approx(math.sqrt(1500 * 1510) / math.sqrt(1000 * 1010))
    assert workers[-1].text == "▲ faster"


def test_what_no_pair_shows_is_noted() -> None:
    run = ignoring_lr()
    run.add_runs(config(batch_size=500, dropout=0.1), [900.0])
    section = effects_of(view_of_run(run))
    (text,) = (note for note in section.notes if note.startswith("no two configs differ"))
    assert {"samples_per_s", "val_acc", "batch_size", "dropout"} <= set(re.findall(r"\w+", text))
    assert "batch_size" not in {row[0].text for row in section.table.rows}


def test_a_knob_of_very_many_values_does_not_fill_the_page() -> None:
    run = MadeRun()
    for number in range(40):
        run.add(config(lr=0.001 * (1 + number)))
    run.add(config(lr=0.5, batch_size=500))
    section = effects_of(view_of_run(run))
    assert len(section.table.rows) == MAX_ROWS + 1, "and the effect of batch_size on the speed"
    assert any("an.effects(run) has them all" in note for note in section.notes)


def test_knobs_of_a_random_design_have_effects_of_a_model_which_is_called_one(
    tmp_path: Path,
) -> None:
    view = View(tables=random_run(tmp_path / "run"))
    section = effects_of(view)
    rows = {row[0].text: row for row in section.table.rows if row[2].text == "samples_per_s"}
    assert {*MORE_KNOBS, "batch_size"} <= set(rows)
    assert {row[5].text for row in rows.values()} == {"model"}
    assert any(note.startswith("model: no two configs differ") for note in section.notes)
    found = main_effects(view)
    found = found[found["metric"] == "samples_per_s"].set_index("knob")
    for knob, gain in FASTER.items():
        assert found.at[knob, "low"] < gain < found.at[knob, "high"]
        assert word_of(outcome_of(found.loc[knob], RULE), "samples_per_s", RULE)[0] in "▲▼"
    decided = found.index[found["verdict"].isin(["higher", "lower"])]
    assert set(decided) == {*FASTER, "batch_size", "num_workers"}


def test_if_nothing_can_be_compared_a_sentence_gives_the_reason() -> None:
    run = MadeRun()
    run.add(config())
    section = effects_of(view_of_run(run))
    assert section.missing == "a single config completed: there is nothing to compare it with"
    assert (section.table, section.figures) == (None, ())


def test_one_pair_without_repeats_has_no_interval_and_no_verdict() -> None:
    run = MadeRun()
    run.add(config())
    run.add(config(num_workers=3))
    section = effects_of(view_of_run(run))
    ((*_, interval, pairs, verdict),) = section.table.rows
    assert (interval.text, pairs.text, verdict.text) == (
        "not known: no repeats", "1", "? not decided",
    )  # fmt: skip


def test_the_figure_has_a_mark_a_row_with_its_interval(view: View) -> None:
    section = effects_of(view)
    assert len(section.table.rows) == sum(len(figure.table) for figure in section.figures)
    speeds, accuracies = section.figures
    assert (speeds.name, accuracies.name) == ("effects-samples-per-s", "effects-val-acc")
    found = main_effects(view)
    (faster, slower) = speeds.figure.data
    assert (faster.name, slower.name) == ("▲ faster", "▼ slower")
    place = list(faster.y).index("num_workers 0 → 3")
    (expected,) = found[(found["knob"] == "num_workers") & (found["value"] == 3)].to_dict("records")
    assert faster.x[place] == pytest.approx(expected["effect"])
    end = faster.x[place] + faster.error_x.array[place]
    assert end == pytest.approx(expected["high"], rel=1e-4)


RULE = Rule(objectives=(maximize("samples_per_s"), maximize("val_acc", tolerance=0.005)))
LEAST = Rule(objectives=(minimize("epoch_s"), minimize("val_loss", tolerance=0.1)))


def row(metric: str, verdict: str, kind: str, low: float, high: float) -> dict[str, object]:
    return {"metric": metric, "verdict": verdict, "kind": kind, "low": low, "high": high}


@pytest.mark.parametrize(
    ("metric", "verdict", "rule", "words"),
    [
        ("samples_per_s", "higher", RULE, "▲ faster"),
        ("samples_per_s", "lower", RULE, "▼ slower"),
        ("epoch_s", "lower", LEAST, "▲ faster"),
        ("val_acc", "lower", RULE, "▼ less accurate"),
        ("val_loss", "lower", LEAST, "▲ better"),
        ("samples_per_s", "equal in every pair", RULE, "= as fast within 2 %"),
        ("peak_rss_gib", "higher", RULE, "▲ better"),
    ],
)
def test_better_is_by_the_goal(metric: str, verdict: str, rule: Rule, words: str) -> None:
    shown = outcome_of(row(metric, verdict, "ratio", 1.1, 1.2), rule)
    assert word_of(shown, metric, rule) == words


@pytest.mark.parametrize(
    ("metric", "kind", "low", "high", "outcome"),
    [
        ("samples_per_s", "ratio", 0.99, 1.015, ALIKE),
        ("samples_per_s", "ratio", 0.97, 1.015, OPEN),
        ("val_acc", "difference", -0.004, 0.005, ALIKE),
        ("val_acc", "difference", -0.006, 0.004, OPEN),
        ("val_acc", "difference", math.nan, math.nan, OPEN),
    ],
)
def test_alike_needs_the_whole_interval_within_the_margin(
    metric: str, kind: str, low: float, high: float, outcome: object
) -> None:
    assert outcome_of(row(metric, "not decided", kind, low, high), RULE) is outcome


@pytest.mark.parametrize(
    ("metric", "kind", "figures", "texts"),
    [
        ("samples_per_s", "ratio", (1.256, 1.1, 1.4), ("1.26x", "1.10 to 1.40")),
        ("val_acc", "difference", (-0.0123, -0.02, 0.002), ("-1.23 points", "-2.00 to +0.20")),
        ("peak_rss_gib", "difference", (0.5, 0.4, 0.6), ("+0.5 GiB", "+0.4 to +0.6")),
        ("samples_per_s", "ratio", (math.nan, math.nan, math.nan), ("not known", "")),
    ],
)
def test_an_effect_has_its_unit_and_its_interval(
    metric: str, kind: str, figures: tuple[float, float, float], texts: tuple[str, str]
) -> None:
    effect, low, high = figures
    known = {**row(metric, "not decided", kind, low, high), "effect": effect}
    assert (effect_text(known), ends_text(known)) == texts


def test_figures_of_a_busy_machine_are_counted() -> None:
    rows = [{"composed": False, "contaminated": busy} for busy in (False, True)]
    assert legend_of(rows[:1]) == []
    assert legend_of(rows) == ["other load disturbed runs of 1 of these 2"]
