"""Figures of the page with their tables."""

from __future__ import annotations

import json
from pathlib import Path

import pandas as pd
import plotly.graph_objects as go

from orchestrator.analysis.report.figures import Figure, tables_of, write_tables


def figure_of(table: pd.DataFrame) -> Figure:
    return Figure(name="speeds", figure=go.Figure(go.Scatter(x=[1], y=[2])), table=table)


def test_the_page_has_short_numbers_and_nothing_for_what_was_not_measured() -> None:
    table = pd.DataFrame(
        {"lr": [1e-05, None], "n": [1, 2], "name": ["a", None], "ok": [True, False]}
    )
    table["metrics.speed"] = [1234.56789, float("nan")]
    drawn = json.loads(json.dumps(figure_of(table).to_json(), allow_nan=False))
    assert drawn["columns"] == ["lr", "n", "name", "ok", "metrics.speed"]
    assert drawn["rows"] == [[1e-05, None], [1, 2], ["a", None], [True, False], [1234.57, None]]
    assert drawn["data"][0]["type"] == "scatter"


def test_the_files_have_every_digit(tmp_path: Path) -> None:
    table = pd.DataFrame({"metrics.speed": [1234.56789]})
    for _ in range(2):  # a second report replaces the first
        write_tables(tables_of([figure_of(table)]), tmp_path)
    assert (tmp_path / "figures/speeds.csv").read_text() == "metrics.speed\n1234.56789\n"
    assert [path.name for path in (tmp_path / "figures").iterdir()] == ["speeds.csv"]
