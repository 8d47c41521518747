"""Figures of the page: colours for light and dark, layout, traces, and the table of each."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final
from zlib import crc32

import numpy as np
import pandas as pd

from orchestrator.storage.files import RunFile, replace_file

if TYPE_CHECKING:
    import plotly.graph_objects as go

PAPER: Final = "#ffffff"
INK: Final = "#1f2a37"
MUTED: Final = "#5d6977"
FAINT: Final = "#7d8996"
GRID: Final = "#e8ecf0"
BLUE: Final = "#2765a8"
GREEN: Final = "#12805c"
AMBER: Final = "#b8620a"

FONT: Final = "system-ui, -apple-system, 'Segoe UI', Roboto, 'Helvetica Neue', Arial, sans-serif"

PHASES: Final = {
    "wait": "#c06a12",
    "transfer": "#8f7a12",
    "forward": "#4a8cc7",
    "backward": "#2558a0",
    "optimizer": "#6d5aa8",
    "other": "#818b95",
}
"""Parts of a step, in the order in which they happen, with their colours."""

DARK: Final = {
    PAPER: "#12171e",
    INK: "#e4e9ee",
    MUTED: "#a3afbb",
    FAINT: "#7b8793",
    GRID: "#28313b",
    BLUE: "#6aa9ea",
    GREEN: "#43c296",
    AMBER: "#eb9d4a",
    "#c06a12": "#e08a35",
    "#8f7a12": "#cdb64a",
    "#4a8cc7": "#86bbe9",
    "#2558a0": "#4a83cc",
    "#6d5aa8": "#9a88d6",
    "#818b95": "#8f9aa5",
}
"""Each colour above as on a dark screen: the page's script substitutes it."""

_DIGITS: Final = 6
"""Significant digits of a figure on the page; the files have all of them."""


def axis(title: str, **more: Any) -> dict[str, Any]:  # noqa: ANN401 - plotly's own settings
    """Return a quiet axis: light grid, no zero line, room for its labels."""
    return {
        "title": {"text": title, "font": {"size": 13, "color": MUTED}, "standoff": 12},
        "gridcolor": GRID,
        "zeroline": False,
        "linecolor": FAINT,
        "ticks": "outside",
        "tickcolor": FAINT,
        "automargin": True,
        # Turned labels change the margin, and the margin decides whether they are turned.
        "tickangle": 0,
        **more,
    }


def rows_axis(names: Sequence[str]) -> dict[str, Any]:
    """Return the vertical axis of a figure with a row a name, the first one on top."""
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


def bars(
    rows: pd.DataFrame, ends: tuple[str, str, str], colour: str, *, scale: float = 1.0
) -> dict[str, Any]:
    """Return plotly's error bars.

    Args:
        rows: A row a mark.
        ends: Columns of the figure and of the ends of its interval.
        colour: Of the bars.
        scale: Factor of all three.
    """
    centre, low, high = (rows[name] * scale for name in ends)
    return {
        "type": "data",
        "array": (high - centre).fillna(0).tolist(),
        "arrayminus": (centre - low).fillna(0).tolist(),
        "symmetric": False,
        "color": colour,
        "thickness": 1,
        "width": 3,
    }


def _layout(**more: Any) -> dict[str, Any]:  # noqa: ANN401 - plotly's own settings
    """Return the layout that all figures of the page share."""
    return {
        "font": {"family": FONT, "size": 13, "color": INK},
        "paper_bgcolor": "rgba(0,0,0,0)",
        "plot_bgcolor": "rgba(0,0,0,0)",
        "margin": {"l": 8, "r": 12, "t": 8, "b": 8},
        "hoverlabel": {"align": "left", "bgcolor": PAPER, "bordercolor": FAINT,
                       "font": {"family": FONT, "size": 12, "color": INK}},
        "xaxis": {},
        "yaxis": {},
        **more,
        "legend": {"orientation": "h", "x": 0, "y": 1.02, "yanchor": "bottom",
                   "font": {"size": 12}, "itemsizing": "constant", **more.get("legend", {})},
    }  # fmt: skip


class Drawing:
    """Traces and layout in the words of plotly.js, which draws them.

    Plotly's own figure checks each value as it is set, which took a third of a report's time: only
    :attr:`Figure.figure` makes one.

    Args:
        more: Settings of the layout in addition to the style's.
    """

    def __init__(self, **more: Any) -> None:  # noqa: ANN401 - plotly's own settings
        self.data: list[dict[str, Any]] = []
        self.layout: dict[str, Any] = _layout(**more)

    def add(self, kind: str, **trace: Any) -> None:  # noqa: ANN401
        """Add a trace: ``scatter`` or ``bar``."""
        self.data.append({"type": kind, **trace})

    def axes(self, x: Mapping[str, Any], y: Mapping[str, Any]) -> None:
        """Set both axes; see :func:`axis`."""
        self.layout |= {"xaxis": dict(x), "yaxis": dict(y)}

    def line(self, place: float, *, along: str = "x", dash: str = "dot") -> None:
        """Draw a thin line across the figure at ``place``.

        Args:
            place: Position at which it crosses the other axis.
            along: The axis that it is parallel to.
            dash: Plotly's name of its pattern.
        """
        other = "y" if along == "x" else "x"
        ends = {f"{along}0": 0, f"{along}1": 1, f"{along}ref": f"{along} domain"}
        at = {f"{other}0": place, f"{other}1": place, f"{other}ref": other}
        line = {"color": MUTED, "width": 1, "dash": dash}
        shape = {"type": "line", "layer": "below", "line": line, **ends, **at}
        self.layout.setdefault("shapes", []).append(shape)

    def to_json(self) -> dict[str, Any]:
        """Return the input of plotly.js, in plain values."""
        return {"data": _plain(self.data), "layout": _plain(self.layout)}


def _plain(value: Any) -> Any:  # noqa: ANN401 - whatever a setting may be
    """Return a value as the page stores it: lists, short numbers, None for an unknown value."""
    if isinstance(value, dict):
        return {name: _plain(part) for name, part in value.items()}
    if isinstance(value, (pd.Series, np.ndarray)):
        value = value.tolist()
    if isinstance(value, (list, tuple)):
        return [_plain(part) for part in value]
    if value is None or value is pd.NA:
        return None
    if isinstance(value, float):
        return float(f"{value:.{_DIGITS}g}") if np.isfinite(value) else None
    return value if isinstance(value, (bool, int, str)) else str(value)


@dataclass(frozen=True, kw_only=True)
class Figure:
    """A figure of the page.

    Attributes:
        name: Its id on the page and its file's name: lower case, words joined by ``-``.
        drawing: The figure itself, in the colours above: the page has another set of them for a
            dark screen.
        table: The data it draws, one row a mark; its columns as in the trials table.
        caption: Sentences below it, which a screen reader reads as well.
    """

    name: str
    drawing: Drawing
    table: pd.DataFrame
    caption: str

    @property
    def figure(self) -> go.Figure:
        """The figure as plotly's own."""
        from plotly.graph_objects import Figure

        json = self.drawing.to_json()
        return Figure({**json, "layout": {"template": None, **json["layout"]}})

    def to_json(self) -> dict[str, Any]:
        """Return the data from which the page's script draws it and makes its CSV."""
        rows = [_plain(self.table[column]) for column in self.table.columns]
        return {
            **self.drawing.to_json(),
            "columns": list(map(str, self.table.columns)),
            "rows": rows,
        }


def write_tables(tables: Mapping[str, pd.DataFrame], run_dir: Path) -> None:
    """Write each table as ``RUN_DIR/figures/<name>.csv``; a name may contain a metric's.

    Raises:
        OSError: The directory cannot be written.
    """
    folder = run_dir / RunFile.FIGURES
    folder.mkdir(exist_ok=True)
    for name, table in tables.items():
        replace_file(folder / f"{_file_name(name)}.csv", partial(table.to_csv, index=False))


def _file_name(name: str) -> str:
    """Return ``name``; with a hash of it where it is none of a file, as with ``val/acc``."""
    plain = re.sub(r"[^\w.-]+", "-", name, flags=re.ASCII)[:100]
    return name if plain == name else f"{plain}-{crc32(name.encode()):08x}"
