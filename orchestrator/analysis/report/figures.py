"""A figure with the table that it draws: on the page, and as a CSV file beside it."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd

from orchestrator.analysis.report.style import GRID, INK, layout
from orchestrator.storage.files import RunFile
from orchestrator.storage.replacing import replace_file

if TYPE_CHECKING:
    import plotly.graph_objects as go

_DIGITS = 6
"""Significant digits of a figure on the page; the files have all of them."""


class Drawing:
    """Traces and layout in the words of plotly.js, which draws them.

    Plotly's own figure checks each value as it is set, which took a third of a report's time: it
    is made only for those who ask for one, by :meth:`plotly`.

    Args:
        more: Settings of the layout beside the style's.
    """

    def __init__(self, **more: Any) -> None:  # noqa: ANN401 - plotly's own settings
        self.data: list[dict[str, Any]] = []
        self.layout: dict[str, Any] = {**layout(**more), "xaxis": {}, "yaxis": {}}

    def add(self, kind: str, **trace: Any) -> None:  # noqa: ANN401
        """Add a trace: ``scatter``, ``bar`` or ``heatmap``."""
        self.data.append({"type": kind, **trace})

    def axes(self, x: Mapping[str, Any], y: Mapping[str, Any]) -> None:
        """Set both axes; see :func:`~orchestrator.analysis.report.style.axis`."""
        self.layout |= {"xaxis": dict(x), "yaxis": dict(y)}

    def line(self, place: float, *, along: str = "x", text: str = "", **line: Any) -> None:  # noqa: ANN401
        """Draw a line across the figure at ``place``.

        Args:
            place: Where it crosses the other axis.
            along: The axis that it is parallel to.
            text: Words at its end, or "".
            line: Its colour, width and dash.
        """
        other = "y" if along == "x" else "x"
        ends = {f"{along}0": 0, f"{along}1": 1, f"{along}ref": f"{along} domain"}
        at = {f"{other}0": place, f"{other}1": place, f"{other}ref": other}
        shape = {"type": "line", "layer": "below", "line": line, **ends, **at}
        self.layout.setdefault("shapes", []).append(shape)
        if text:
            where = {"x": 1, "xref": "x domain", "xanchor": "right", "y": place, "yref": "y"}
            words = {"text": text, "showarrow": False, "yanchor": "bottom"}
            font = {"font": {"color": line.get("color", INK)}}
            self.layout.setdefault("annotations", []).append({**where, **words, **font})

    def to_json(self) -> dict[str, Any]:
        """Return what plotly.js draws, in plain values."""
        return {"data": _plain(self.data), "layout": _plain(self.layout)}

    def plotly(self) -> go.Figure:
        """Return it as plotly's own figure."""
        from plotly.graph_objects import Figure

        json = self.to_json()
        return Figure({**json, "layout": {"template": None, **json["layout"]}})


def _plain(value: Any) -> Any:  # noqa: ANN401 - whatever a setting may be
    """Return a value as JSON has it: lists for columns, None for what is not known."""
    if isinstance(value, dict):
        return {name: _plain(part) for name, part in value.items()}
    if isinstance(value, (pd.Series, np.ndarray)):
        value = value.tolist()
    if isinstance(value, (list, tuple)):
        return [_plain(part) for part in value]
    if isinstance(value, np.generic):
        value = value.item()
    return None if isinstance(value, float) and not np.isfinite(value) else value


def rows_axis(names: Sequence[str]) -> dict[str, Any]:
    """Return the upright axis of a figure with a row a name, the first one on top."""
    return {
        "autorange": "reversed",
        "automargin": True,
        "gridcolor": GRID,
        "tickfont": {"size": 12, "color": INK},
        "ticks": "outside",
        "ticklen": 6,
        "tickcolor": "rgba(0,0,0,0)",
        "type": "category",
        "categoryorder": "array",
        "categoryarray": list(names),
    }


@dataclass(frozen=True, kw_only=True)
class Figure:
    """A figure of the page.

    Attributes:
        name: Its id on the page and its file's name: lower case, words joined by ``-``.
        drawing: The figure itself, in colours of :mod:`orchestrator.analysis.report.style`: the
            page has another set of them for a dark screen.
        table: What it draws, one row a mark; its columns as in the trials table.
        caption: Sentences below it.
        label: One sentence for those who cannot see it: what it shows, and how it comes out.
        shown: Ranges of axes at first, by plotly's names (``yaxis.range``); empty for all of it.
        rest: Words of the button that shows the rest; needed with ``shown``.
    """

    name: str
    drawing: Drawing
    table: pd.DataFrame
    caption: str = ""
    label: str = ""
    shown: Mapping[str, list[float]] = field(default_factory=dict)
    rest: str = ""

    @property
    def figure(self) -> go.Figure:
        """It as plotly's own figure, with the ranges that the page shows at first."""
        figure = self.drawing.plotly()
        for name, ends in self.shown.items():
            figure.update_layout({f"{name.partition('.')[0]}_range": ends})
        return figure

    def to_json(self) -> dict[str, Any]:
        """Return what the page's script draws it and makes its CSV from."""
        return {
            **self.drawing.to_json(),
            "shown": dict(self.shown),
            "rest": self.rest,
            "columns": list(map(str, self.table.columns)),
            "rows": [_short(self.table[column]) for column in self.table.columns],
        }


def write_tables(tables: Mapping[str, pd.DataFrame], run_dir: Path) -> None:
    """Write each table as ``RUN_DIR/figures/<name>.csv``.

    Raises:
        OSError: The directory cannot be written.
    """
    folder = run_dir / RunFile.FIGURES
    folder.mkdir(exist_ok=True)
    for name, table in tables.items():
        replace_file(folder / f"{name}.csv", partial(table.to_csv, index=False))


def tables_of(figures: Iterable[Figure]) -> dict[str, pd.DataFrame]:
    """Return the table of each figure by its name."""
    return {figure.name: figure.table for figure in figures}


def _short(column: pd.Series[Any]) -> list[Any]:
    """Return a column's cells as JSON holds them: short numbers, None for a missing one."""
    if pd.api.types.is_float_dtype(column.dtype):
        return [float(f"{value:.{_DIGITS}g}") if value == value else None for value in column]
    if pd.api.types.is_integer_dtype(column.dtype) or pd.api.types.is_bool_dtype(column.dtype):
        return [None if pd.isna(value) else value for value in column.tolist()]
    return [None if cell is None or cell != cell else str(cell) for cell in column.tolist()]
