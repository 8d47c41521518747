"""The palette: every verdict and phase has a colour of its own, and figures share a layout."""

from __future__ import annotations

import re

from analysis.report import style
from analysis.statistics.against_best import Verdict
from orchestrator.measurement.steps import Phase


def test_every_verdict_has_a_colour_of_its_own() -> None:
    assert set(style.VERDICTS) == {*map(str, Verdict), ""}
    assert len(set(style.VERDICTS.values())) == len(style.VERDICTS)


def test_every_phase_has_a_colour_in_the_order_of_a_step() -> None:
    assert list(style.PHASES) == [*map(str, Phase), "other"]
    assert len(set(style.PHASES.values())) == len(style.PHASES)


def test_colours_are_written_as_plotly_and_css_read_them() -> None:
    colours = [*style.VERDICTS.values(), *style.PHASES.values(), style.INK, style.GRID]
    assert all(re.fullmatch("#[0-9a-f]{6}", colour) for colour in colours)


def test_a_figure_may_change_its_axes_and_layout() -> None:
    axis = style.axis("speed", type="log", zeroline=True)
    assert (axis["title"]["text"], axis["type"], axis["zeroline"]) == ("speed", "log", True)
    layout = style.layout(height=300, margin={"l": 40})
    assert (layout["height"], layout["margin"]) == (300, {"l": 40})
    assert "height" not in style.layout(), "each figure has its own"
