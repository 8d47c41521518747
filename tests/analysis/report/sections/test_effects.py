"""Every config by one knob at a time."""

from __future__ import annotations

from analysis.report.sections.effects import knob_effects
from analysis.report.view import View


def test_each_varied_knob_has_a_figure_with_its_medians(view: View) -> None:
    figures = knob_effects(view)
    assert set(figures) == {"lr", "batch_size", "num_workers"}
    points, medians = figures["num_workers"].data[:2]
    assert len(points.y) == 24
    assert list(medians.x) == ["0", "3", "6", "8"]
    assert set(medians.text) == {"median of 6 configs"}
