"""Figures of the page with their tables."""

from __future__ import annotations

import json
from pathlib import Path

import pandas as pd

from orchestrator.analysis.report.figures import Drawing, Figure, tables_of, write_tables


def figure_of(table: pd.DataFrame) -> Figure:
    drawing = Drawing(height=300)
    drawing.add("scatter", x=pd.Series([1.0, float("nan")]), y=[2, 3])
    drawing.line(1.5, text="limit", color="#000000")
    return Figure(name="speeds", drawing=drawing, table=table, shown={"xaxis.range": [0.0, 2.0]})


def test_the_page_has_short_numbers_and_nothing_for_what_was_not_measured() -> None:
    table = pd.DataFrame(
        {"lr": [1e-05, None], "n": [1, 2], "name": ["a", None], "ok": [True, False]}
    )
    table["metrics.speed"] = [1234.56789, float("nan")]
    drawn = json.loads(json.dumps(figure_of(table).to_json(), allow_nan=False))
    assert drawn["columns"] == ["lr", "n", "name", "ok", "metrics.speed"]
    assert drawn["rows"] == [[1e-05, None], [1, 2], ["a", None], [True, False], [1234.57, None]]
    assert drawn["data"] == [{"type": "scatter", "x": [1.0, None], "y": [2, 3]}]


def test_it_is_plotlys_own_figure_for_those_who_ask() -> None:
    figure = figure_of(pd.DataFrame()).figure
    assert list(figure.data[0].y) == [2, 3]
    assert figure.layout.shapes[0].y0 == 1.5
    assert figure.layout.annotations[0].text == "limit"
    assert figure.layout.xaxis.range == (0.0, 2.0)


def test_the_files_have_every_digit(tmp_path: Path) -> None:
    table = pd.DataFrame({"metrics.speed": [1234.56789]})
    for _ in range(2):  # a second report replaces the first
        write_tables(tables_of([figure_of(table)]), tmp_path)
    assert (tmp_path / "figures/speeds.csv").read_text() == "metrics.speed\n1234.56789\n"
    assert [path.name for path in (tmp_path / "figures").iterdir()] == ["speeds.csv"]
