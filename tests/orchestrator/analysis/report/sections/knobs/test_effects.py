"""What each knob does, and how much it matters, on the page."""

from __future__ import annotations

import math

import pytest

from orchestrator.analysis.report.sections.knobs.effects import (
    MAX_ROWS,
    effects_of,
    importance_of,
    main_effects,
)
from orchestrator.analysis.report.view import View
from tests.orchestrator.analysis.made_runs import MadeRun, config
from tests.orchestrator.analysis.report.pages import view_of_run


def ignoring_lr() -> MadeRun:
    """A run of one thing at a time: the fast config alone has another lr, which no speed knows."""
    run = MadeRun()
    run.add_runs(config(), [1000.0, 1010.0])
    run.add_runs(config(num_workers=3), [1500.0, 1510.0])
    run.add_runs(config(lr=0.01, num_workers=3), [1500.0, 1490.0])
    return run


def test_a_knob_is_judged_by_the_configs_that_differ_in_it_alone() -> None:
    """Medians over all configs would show an lr of 0.01 as faster."""
    view = view_of_run(ignoring_lr())
    section = effects_of(view)
    assert section.table is not None
    rows = {(row[0].text, row[2].text): row for row in section.table.rows}
    assert set(rows) == {("num_workers", "samples_per_s"), ("lr", "val_acc")}
    workers = rows["num_workers", "samples_per_s"]
    assert workers[1].text == "0 → 3"
    assert workers[3].number == pytest.approx(math.sqrt(1500 * 1510) / math.sqrt(1000 * 1010))
    assert workers[-1].text == "▲ faster"


def test_what_no_pair_tells_is_said() -> None:
    run = ignoring_lr()
    run.add_runs(config(batch_size=500, dropout=0.1), [900.0])
    section = effects_of(view_of_run(run))
    assert "no two configs differ in batch_size alone, so that what it does to samples_per_s" in (
        "; ".join(section.notes)
    )
    assert section.table is not None
    assert "batch_size" not in {row[0].text for row in section.table.rows}


def test_a_knob_of_very_many_values_does_not_fill_the_page() -> None:
    run = MadeRun()
    for number in range(40):
        run.add(config(lr=0.001 * (1 + number)))
    run.add(config(lr=0.5, batch_size=500))
    section = effects_of(view_of_run(run))
    assert section.table is not None
    assert len(section.table.rows) == MAX_ROWS
    assert any("an.effects(run) has them all" in note for note in section.notes)


def test_where_nothing_can_be_compared_a_sentence_says_why() -> None:
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
    assert section.table is not None
    ((*_, interval, pairs, verdict),) = section.table.rows
    assert (interval.text, pairs.text, verdict.text) == (
        "not known: no repeats", "1", "? not decided",
    )  # fmt: skip


def test_the_figure_has_a_mark_a_row_with_its_interval(view: View) -> None:
    section = effects_of(view)
    assert section.table is not None
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


def test_of_many_configs_there_are_bars_for_the_speed_and_for_the_accuracy() -> None:
    run = MadeRun()
    for lr in (1e-3, 3e-3, 1e-2, 3e-2):
        for batch_size in (500, 1000, 2000, 4000):
            for workers in (0, 1, 3, 6):
                run.add(config(lr=lr, batch_size=batch_size, num_workers=workers))
    section = importance_of(view_of_run(run))
    (drawn,) = section.figures
    speed, accuracy = drawn.figure.data
    assert (speed.name, accuracy.name) == ("for samples_per_s", "for val_acc")
    assert set(speed.y) == {"lr", "batch_size", "num_workers"}
    assert sum(speed.x) == pytest.approx(1.0)
    assert dict(zip(accuracy.y, accuracy.x, strict=True))["lr"] > 0.4
    assert len(drawn.table) == 6
    assert "val_acc: of 64 configs of 64" in drawn.caption


def test_of_few_a_line_says_so(view: View) -> None:
    section = importance_of(view)
    assert section.figures == ()
    assert section.missing.startswith("too few: ")
    assert "configs with samples_per_s, 50" in section.missing
