"""The palette: every phase has a colour of its own, and figures share a layout."""

from __future__ import annotations

import re

import pytest

from orchestrator.analysis.report import style
from orchestrator.analysis.report.style import (
    BASELINE,
    ON_FRONT,
    OPEN,
    RANKED,
    RECOMMENDED,
    marks_of,
)
from orchestrator.analysis.report.view import View
from orchestrator.measurement.blocks import Phase


def test_each_config_has_the_first_mark_that_it_may_have(view: View) -> None:
    found = marks_of(view.shown, view.rule)
    assert list(found) == [
        "not accurate enough", "other configs", "on the front", "baseline", "recommended",
    ]  # fmt: skip
    rows = [index for _, some in found.values() for index in some.index]
    assert sorted(rows) == sorted(view.shown.index)
    both = view.shown.assign(is_baseline=view.shown["is_recommended"])
    assert "baseline" not in marks_of(both, view.rule), "the recommended one comes first"
    on_front = both.assign(on_front=True)
    assert list(marks_of(on_front, view.rule)) == ["on the front", "recommended"]


def test_kinds_without_a_config_are_left_out(view: View) -> None:
    assert marks_of(view.shown.iloc[:0], view.rule) == {}


def test_every_phase_has_a_colour_in_the_order_of_a_step() -> None:
    assert list(style.PHASES) == [*map(str, Phase), "other"]
    assert len(set(style.PHASES.values())) == len(style.PHASES)


def test_colours_are_written_as_plotly_and_css_read_them() -> None:
    colours = [*style.PHASES.values(), style.INK, style.GRID]
    assert all(re.fullmatch("#[0-9a-f]{6}", colour) for colour in colours)


def luminance(colour: str) -> float:
    """Relative luminance by WCAG 2."""
    shares = [int(colour[place : place + 2], 16) / 255 for place in (1, 3, 5)]
    linear = [s / 12.92 if s <= 0.04045 else ((s + 0.055) / 1.055) ** 2.4 for s in shares]
    return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]


def contrast(colour: str, paper: str) -> float:
    brighter, darker = sorted((luminance(colour), luminance(paper)), reverse=True)
    return (brighter + 0.05) / (darker + 0.05)


def test_contrast_is_that_of_the_standard() -> None:
    assert contrast("#000000", "#ffffff") == pytest.approx(21)
    assert contrast("#777777", "#ffffff") == pytest.approx(4.48, abs=0.01)


MARKS = {
    *style.PHASES.values(),
    *(style.FAINT, style.BLUE, style.GREEN, style.AMBER),
    *(mark.colour for mark in (RECOMMENDED, BASELINE, ON_FRONT, RANKED, OPEN)),
}


@pytest.mark.parametrize("colour", sorted(MARKS))
def test_every_mark_is_told_from_the_paper_in_light_and_in_dark(colour: str) -> None:
    assert contrast(colour, style.PAPER) >= 3
    assert contrast(style.DARK[colour], style.DARK[style.PAPER]) >= 3


@pytest.mark.parametrize("colour", [style.INK, style.MUTED])
def test_words_can_be_read_in_light_and_in_dark(colour: str) -> None:
    assert contrast(colour, style.PAPER) >= 4.5
    assert contrast(style.DARK[colour], style.DARK[style.PAPER]) >= 4.5


def test_kinds_of_configs_have_a_shape_of_their_own() -> None:
    kinds = (RECOMMENDED, BASELINE, ON_FRONT, RANKED, OPEN)
    assert len({kind.symbol for kind in kinds}) == len(kinds)
    assert len({(kind.symbol.removesuffix("-open"), kind.is_open) for kind in kinds}) == len(kinds)


def test_a_figure_may_change_its_axes_and_layout() -> None:
    axis = style.axis("speed", type="log", zeroline=True)
    assert (axis["title"]["text"], axis["type"], axis["zeroline"]) == ("speed", "log", True)
    layout = style.layout(height=300, margin={"l": 40})
    assert (layout["height"], layout["margin"]) == (300, {"l": 40})
    assert "height" not in style.layout(), "each figure has its own"
