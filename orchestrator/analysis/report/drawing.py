"""Figures of the page: colours for light and dark, layout, traces, and the table of each."""

from __future__ import annotations

from collections.abc import Sequence
from enum import StrEnum
from typing import TYPE_CHECKING, Any, Final

import pandas as pd

from orchestrator.analysis.columns import plain
from orchestrator.analysis.wording import is_share
from orchestrator.metric_table import METRICS, unit_of

if TYPE_CHECKING:
    import plotly.graph_objects as go


class Colour(StrEnum):
    """Colours of the page on paper; :data:`DARK` has those on a dark screen."""

    PAPER = "#ffffff"
    INK = "#1f2a37"
    MUTED = "#5d6977"
    FAINT = "#7d8996"
    GRID = "#e8ecf0"
    BLUE = "#2765a8"
    GREEN = "#12805c"
    AMBER = "#b8620a"


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

_DARK: Final = (
    "#12171e", "#e4e9ee", "#a3afbb", "#7b8793", "#28313b", "#6aa9ea", "#43c296", "#eb9d4a",
    "#e08a35", "#cdb64a", "#86bbe9", "#4a83cc", "#9a88d6", "#8f9aa5",
)  # fmt: skip
DARK: Final = dict(zip((*Colour, *PHASES.values()), _DARK, strict=True))
"""Each colour above as on a dark screen: the page's script substitutes it."""

_DIGITS: Final = 6
"""Significant digits of a figure on the page; the files have all of them."""


def axis(title: str, **more: Any) -> dict[str, Any]:  # noqa: ANN401 - plotly's own settings
    """Return a quiet axis: light grid, no zero line, room for its labels."""
    return {
        "title": {"text": title, "font": {"size": 13, "color": Colour.MUTED}, "standoff": 12},
        "gridcolor": Colour.GRID,
        "zeroline": False,
        "linecolor": Colour.FAINT,
        "ticks": "outside",
        "tickcolor": Colour.FAINT,
        "automargin": True,
        # Turned labels change the margin, and the margin decides whether they are turned.
        "tickangle": 0,
        **more,
    }


def metric_axis(metric: str, **more: Any) -> dict[str, Any]:  # noqa: ANN401
    """Return the axis of a metric: its name in words with its unit, shares in per cent."""
    unit, title = unit_of(metric), METRICS[metric].title if metric in METRICS else ""
    title = title or (f"{metric} ({unit})" if unit else metric)
    return axis(title, **({"tickformat": ".2~%"} if is_share(metric) else {}), **more)


def rows_axis(names: Sequence[str]) -> dict[str, Any]:
    """Return the vertical axis of a figure with a row a name, the first one on top."""
    return {
        "autorange": "reversed",
        "automargin": True,
        "gridcolor": Colour.GRID,
        "tickfont": {"size": 12, "color": Colour.INK},
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


class Figure:
    """A figure of the page: traces and layout in the words of plotly.js, which draws them.

    Plotly's own figure checks each value as it is set, which took a third of a report's time: only
    :attr:`figure` makes one.

    Args:
        name: Its id on the page and its file's name: lower case, words joined by ``-``.
        table: The data it draws, one row a mark; its columns as in the trials table.
        caption: Sentences below it, which a screen reader reads as well.
        more: Settings of the layout in addition to the style's.
    """

    def __init__(self, name: str, table: pd.DataFrame, caption: str, **more: Any) -> None:  # noqa: ANN401 - plotly's own settings
        self.name, self.table, self.caption = name.replace("_", "-"), table, caption
        self.data: list[dict[str, Any]] = []
        self.layout: dict[str, Any] = {
            "font": {"family": FONT, "size": 13, "color": Colour.INK},
            "paper_bgcolor": "rgba(0,0,0,0)",
            "plot_bgcolor": "rgba(0,0,0,0)",
            "margin": {"l": 8, "r": 12, "t": 8, "b": 8},
            "hoverlabel": {"align": "left", "bgcolor": Colour.PAPER, "bordercolor": Colour.FAINT,
                           "font": {"family": FONT, "size": 12, "color": Colour.INK}},
            "xaxis": {},
            "yaxis": {},
            **more,
            "legend": {"orientation": "h", "x": 0, "y": 1.02, "yanchor": "bottom",
                       "font": {"size": 12}, "itemsizing": "constant", **more.get("legend", {})},
        }  # fmt: skip

    def add(self, kind: str, **trace: Any) -> None:  # noqa: ANN401
        """Add a trace: ``scatter`` or ``bar``."""
        self.data.append({"type": kind, **trace})

    def axes(self, x: dict[str, Any], y: dict[str, Any]) -> None:
        """Set both axes; see :func:`axis`."""
        self.layout |= {"xaxis": x, "yaxis": y}

    def line(self, place: float, *, along: str = "x", dash: str = "dot") -> None:
        """Draw a thin line across the figure.

        Args:
            place: Position at which it crosses the other axis.
            along: The axis that it is parallel to.
            dash: Plotly's name of its pattern.
        """
        other = "y" if along == "x" else "x"
        ends = {f"{along}0": 0, f"{along}1": 1, f"{along}ref": f"{along} domain"}
        at = {f"{other}0": place, f"{other}1": place, f"{other}ref": other}
        line = {"color": Colour.MUTED, "width": 1, "dash": dash}
        shape = {"type": "line", "layer": "below", "line": line, **ends, **at}
        self.layout.setdefault("shapes", []).append(shape)

    @property
    def figure(self) -> go.Figure:
        """The figure as plotly's own."""
        from plotly.graph_objects import Figure

        drawn = self.to_json()
        return Figure({"data": drawn["data"], "layout": {"template": None, **drawn["layout"]}})

    def to_json(self) -> dict[str, Any]:
        """Return the data from which the page's script draws it and makes its CSV."""
        columns = list(self.table.columns)
        rows = [self.table[column] for column in columns]
        content = {"data": self.data, "layout": self.layout, "columns": columns, "rows": rows}
        return {name: plain(part, digits=_DIGITS) for name, part in content.items()}
