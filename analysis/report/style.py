"""Style of the figures: one palette and one layout for the page and the picture."""

from __future__ import annotations

from typing import Any, Final

INK: Final = "#1f2a37"
MUTED: Final = "#6b7785"
FAINT: Final = "#a9b5c1"
GRID: Final = "#e8ecf0"
BLUE: Final = "#2765a8"
GREEN: Final = "#12805c"
AMBER: Final = "#b8620a"

FONT: Final = "system-ui, -apple-system, 'Segoe UI', Roboto, 'Helvetica Neue', Arial, sans-serif"

VERDICTS: Final = {
    "best": "#0f5f43",
    "tied": "#3fae85",
    "unresolved": "#d9a21b",
    "worse": "#a9b5c1",
    "": "#ffffff",
}
"""Colours of verdicts; white, with an edge, for configs not accurate enough to be ranked."""

PHASES: Final = {
    "wait": "#d98b3a",
    "transfer": "#e6c15c",
    "forward": "#7fb0de",
    "backward": "#2f6cb0",
    "optimizer": "#6d5aa8",
    "other": "#cfd6dd",
}
"""Parts of a step, in the order in which they happen, with their colours."""


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
        "hoverlabel": {"align": "left", "bgcolor": "white", "bordercolor": FAINT,
                       "font": {"family": FONT, "size": 12, "color": INK}},
        "legend": {"orientation": "h", "x": 0, "y": 1.02, "yanchor": "bottom",
                   "font": {"size": 12}, "itemsizing": "constant"},
        **more,
    }  # fmt: skip
