"""The words of a picture."""

from __future__ import annotations

from dataclasses import asdict, replace

from orchestrator.analysis.report.sections.captions import caption_of, label_of, limit_text
from orchestrator.analysis.report.sections.scatter import scatter_figures
from orchestrator.analysis.report.view import View
from orchestrator.metrics import maximize
from tests.orchestrator.analysis.made_runs import MadeRun, config, products_run
from tests.orchestrator.analysis.report.pages import view_of_run


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
