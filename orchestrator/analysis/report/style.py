"""Style of the figures: one palette for light and for dark, one layout, for page and picture."""

from __future__ import annotations

from typing import Any, Final

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
"""Each colour above as it is on a dark screen: the page's script puts it in its place."""


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
        # Turned labels change the margin, and with it whether they are turned.
        "tickangle": 0,
        **more,
    }


def layout(**more: Any) -> dict[str, Any]:  # noqa: ANN401 - plotly's own settings
    """Return the layout that all figures of the page share."""
    return {
        "template": None,
        "font": {"family": FONT, "size": 13, "color": INK},
        "paper_bgcolor": "rgba(0,0,0,0)",
        "plot_bgcolor": "rgba(0,0,0,0)",
        "margin": {"l": 8, "r": 12, "t": 8, "b": 8},
        "hoverlabel": {"align": "left", "bgcolor": PAPER, "bordercolor": FAINT,
                       "font": {"family": FONT, "size": 12, "color": INK}},
        "legend": {"orientation": "h", "x": 0, "y": 1.02, "yanchor": "bottom",
                   "font": {"size": 12}, "itemsizing": "constant"},
        **more,
    }  # fmt: skip
