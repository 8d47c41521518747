"""Importance of the knobs, on the page."""

from __future__ import annotations

import pytest

from orchestrator.analysis.report.sections.knobs.importance import importance_of
from orchestrator.analysis.report.view import View
from tests.orchestrator.analysis.made_runs import MadeRun, config
from tests.orchestrator.analysis.report.pages import view_of_run


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
