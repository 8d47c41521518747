"""Speed over a knob, drawn."""

from __future__ import annotations

import numpy as np

import orchestrator.analysis as an
from orchestrator.analysis.report.sections.scaling import MAX_FAMILIES, scaling_figure
from orchestrator.analysis.report.view import View
from tests.orchestrator.analysis.made_runs import MadeRun, config
from tests.orchestrator.analysis.report.pages import view_of_run


def test_the_recommended_family_comes_first_and_of_many_some_are_drawn(view: View) -> None:
    drawn = scaling_figure(view, an.scaling(view.tables, "num_workers"))
    assert drawn.figure.data[0].name == "lr=0.01 batch_size=4000"
    assert len(drawn.figure.data) == MAX_FAMILIES
    assert "2 other sets of such configs are not drawn" in drawn.caption
    assert drawn.table["family"].nunique() == MAX_FAMILIES


def test_ceilings_are_drawn_apart_from_what_was_measured() -> None:
    run, rng = MadeRun(), np.random.default_rng(0)
    for workers in (1, 2):
        for repeat in range(3):
            speed = workers * 2500 * float(np.exp(0.01 * rng.standard_normal()))
            cells: dict[str, object] = {
                "metrics.samples_per_s": speed,
                "metrics.loader_only_samples_per_s": workers * 2500.0,
                "metrics.compute_only_samples_per_s": 10_000.0,
            }
            run.add(config(num_workers=workers), repeat=repeat, **cells)  # type: ignore[arg-type]
    view = view_of_run(run)
    measured, ceiling = scaling_figure(view, an.scaling(view.tables)).figure.data
    assert list(measured.x) == [1, 2]
    assert list(ceiling.y) == [2500.0, 5000.0]
