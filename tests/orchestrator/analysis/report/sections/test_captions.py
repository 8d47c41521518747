"""The words of a picture."""

from __future__ import annotations

import re
from dataclasses import asdict, replace

from orchestrator.analysis.report.sections.captions import (
    caption_of,
    hover,
    label_of,
    limit_text,
    telling,
)
from orchestrator.analysis.report.sections.scatter import scatter_figures
from orchestrator.analysis.report.view import View
from orchestrator.metrics import maximize
from tests.orchestrator.analysis.made_runs import MadeRun, config, products_run
from tests.orchestrator.analysis.report.pages import view_of_run


def texts_of(view: View) -> list[str]:
    words, template = hover(view, view.shown)
    return [filled(template, row.tolist()) for row in words]


def filled(template: str, words: list[str]) -> str:
    return re.sub(r"%\{customdata\[(\d+)\]\}", lambda found: words[int(found[1])], template)


def test_the_words_fill_the_template(view: View) -> None:
    (text,) = (text for text in texts_of(view) if "confirm runs: 3" in text and "=3</b>" in text)
    lines = text.removesuffix("<extra></extra>").split("<br>")
    assert lines[:3] == ["<b>lr=0.01</b>", "<b>batch_size=4000</b>", "<b>num_workers=3</b>"]
    assert "samples_per_s: 23,916 samples/s" in lines
    assert "bound by: compute" in lines
    assert any(line.startswith("unresolved against the best: 99.9 %") for line in lines)


def test_knobs_that_never_change_are_not_named(view: View) -> None:
    assert telling(view) == ["lr", "batch_size", "num_workers"]


def test_what_users_wrote_cannot_change_the_page() -> None:
    run = MadeRun()
    run.add(config(allocator="<b>x</b>"))
    (text,) = texts_of(view_of_run(run))
    assert "allocator=&lt;b&gt;x&lt;/b&gt;" in text


def test_truth_values_are_written_as_commands_take_them() -> None:
    run = MadeRun()
    for value in (True, False):
        run.add(config(persistent_workers=value))
    first, second = texts_of(view_of_run(run))
    assert "persistent_workers=true" in first
    assert "persistent_workers=false" in second


def run_of_speed_alone() -> MadeRun:
    run = products_run()
    run.sweep["objectives"] = [asdict(maximize("samples_per_s"))]
    return run


def test_the_caption_says_what_bars_and_lines_are(view: View) -> None:
    (other,) = view.beside_speed
    caption = caption_of(view, other)
    assert "bars are 95 % intervals of the speed, with the spread between fresh runs" in caption
    assert "Open marks: confirmed configs by their confirm runs, which selected none." in caption
    assert "Dotted: 0.5 points short of the best accuracy" in caption
    alone = caption_of(replace(view, pool=None, confirmed=view.confirmed.iloc[:0]), other)
    assert "within the run alone, since nothing was repeated" in alone
    assert "confirm runs" not in alone


def test_configs_with_the_same_figures_are_said_to_be_one_mark() -> None:
    run = MadeRun()
    for workers in range(4):
        run.add_runs(config(num_workers=workers), [1000.0, 1000.0])
    (figure,) = scatter_figures(view_of_run(run))
    assert "3 configs with the same two figures as another: one mark." in figure.caption


def test_a_reader_who_cannot_see_it_hears_where_the_marked_configs_are(view: View) -> None:
    label = label_of(view, view.beside_speed[0])
    assert label.startswith("speed (samples/s) against validation accuracy of 24 configs; ")
    assert "recommended: 23,916 samples/s, 91.45 %" in label


def test_a_single_objective_is_drawn_against_what_was_learned_beside_it() -> None:
    view = view_of_run(run_of_speed_alone())
    assert [other.metric for other in view.beside_speed] == ["val_acc"]
    assert limit_text(view, view.beside_speed[0]) == ""
