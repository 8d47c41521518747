"""Figures of the page with their tables, and the palette."""

from __future__ import annotations

import json
from pathlib import Path

import pandas as pd
import pytest

from orchestrator.analysis.report import drawing
from orchestrator.analysis.report.drawing import Drawing, Figure, write_tables
from orchestrator.measurement.blocks import Phase


def figure_of(table: pd.DataFrame) -> Figure:
    drawn = Drawing(height=300)
    drawn.add("scatter", x=pd.Series([1.0, float("nan")]), y=[2, 3])
    drawn.line(1.5)
    return Figure(name="speeds", drawing=drawn, table=table, caption="")


def test_the_page_has_short_numbers_and_nothing_for_what_was_not_measured() -> None:
    table = pd.DataFrame(
        {"lr": [1e-05, None], "n": [1, 2], "name": ["a", None], "ok": [True, False]}
    )
    table["metrics.speed"] = [1234.56789, float("nan")]
    drawn = json.loads(json.dumps(figure_of(table).to_json(), allow_nan=False))
    assert drawn["columns"] == ["lr", "n", "name", "ok", "metrics.speed"]
    assert drawn["rows"] == [[1e-05, None], [1, 2], ["a", None], [True, False], [1234.57, None]]
    assert drawn["data"] == [{"type": "scatter", "x": [1.0, None], "y": [2, 3]}]


def test_it_can_be_made_plotlys_own_figure() -> None:
    figure = figure_of(pd.DataFrame()).figure
    assert list(figure.data[0].y) == [2, 3]
    assert figure.layout.shapes[0].y0 == 1.5


def test_the_files_have_every_digit(tmp_path: Path) -> None:
    table = pd.DataFrame({"metrics.speed": [1234.56789]})
    for _ in range(2):  # a second report replaces the first
        write_tables({"speeds": table}, tmp_path)
    assert (tmp_path / "figures/speeds.csv").read_text() == "metrics.speed\n1234.56789\n"
    assert [path.name for path in (tmp_path / "figures").iterdir()] == ["speeds.csv"]


def test_a_name_of_any_metric_gives_a_file(tmp_path: Path) -> None:
    names = ["effects-speed", "effects-val/acc", "effects-val acc", "effects-" + 200 * "ö"]
    write_tables(dict.fromkeys(names, pd.DataFrame({"a": [1]})), tmp_path)
    written = [path.name for path in (tmp_path / "figures").iterdir()]
    assert len(written) == len(names)
    assert "effects-speed.csv" in written


def test_every_phase_has_a_colour_in_the_order_of_a_step() -> None:
    assert list(drawing.PHASES) == [*map(str, Phase), "other"]
    assert len(set(drawing.PHASES.values())) == len(drawing.PHASES)


def luminance(colour: str) -> float:
    """Relative luminance by WCAG 2."""
    shares = [int(colour[place : place + 2], 16) / 255 for place in (1, 3, 5)]
    linear = [s / 12.92 if s <= 0.04045 else ((s + 0.055) / 1.055) ** 2.4 for s in shares]
    return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]


def contrast(colour: str, paper: str) -> float:
    brighter, darker = sorted((luminance(colour), luminance(paper)), reverse=True)
    return (brighter + 0.05) / (darker + 0.05)


@pytest.mark.parametrize("colour", sorted(set(drawing.DARK) - {drawing.PAPER, drawing.GRID}))
def test_every_colour_is_told_from_the_paper_in_light_and_in_dark(colour: str) -> None:
    least = 4.5 if colour in (drawing.INK, drawing.MUTED) else 3
    assert contrast(colour, drawing.PAPER) >= least
    assert contrast(drawing.DARK[colour], drawing.DARK[drawing.PAPER]) >= least
