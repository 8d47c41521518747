"""Style of the figures, on page and picture: colours for light and dark, layout, marks."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any, Final

import numpy as np
import pandas as pd

from orchestrator.analysis.rule import Rule
from orchestrator.analysis.rule_words import lacking

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


@dataclass(frozen=True, kw_only=True)
class Mark:
    """One kind of mark: its word in the legend, colour, plotly's shape, size."""

    name: str
    colour: str
    symbol: str
    size: int

    @property
    def is_open(self) -> bool:
        """True where only its edge is drawn."""
        return self.symbol.endswith("-open")

    @property
    def opened(self) -> Mark:
        """The same shape, of which only the edge is drawn."""
        return self if self.is_open else replace(self, symbol=f"{self.symbol}-open")


RECOMMENDED: Final = Mark(name="recommended", colour=GREEN, symbol="star", size=17)
BASELINE: Final = Mark(name="baseline", colour=AMBER, symbol="square", size=12)
ON_FRONT: Final = Mark(name="on the front", colour=BLUE, symbol="diamond", size=11)
RANKED: Final = Mark(name="other configs", colour=MUTED, symbol="circle", size=7)
CONFIRMED: Final = "by confirm runs"
"""Word of the open marks: a config's confirm runs, beside the runs that it was selected by."""

OPEN: Final = Mark(name="", colour=FAINT, symbol="circle-open", size=7)


def marks_of(configs: pd.DataFrame, rule: Rule) -> dict[str, tuple[Mark, pd.DataFrame]]:
    """Return the configs of each mark by its name, those to be drawn on top last.

    Args:
        configs: With ``is_recommended``, ``is_baseline``, ``on_front`` and ``verdict``.
        rule: The rule, whose conditions the open marks do not hold.
    """
    tests = (
        (RECOMMENDED.name, configs["is_recommended"]),
        (BASELINE.name, configs["is_baseline"]),
        (ON_FRONT.name, configs["on_front"]),
        (RANKED.name, configs["verdict"] != ""),
    )
    short = lacking(rule)
    names = np.select([test.to_numpy(bool) for _, test in tests], [n for n, _ in tests], short)
    kinds = {short: OPEN} | {m.name: m for m in (RANKED, ON_FRONT, BASELINE, RECOMMENDED)}
    found = {name: (mark, configs[names == name]) for name, mark in kinds.items()}
    return {name: (mark, rows) for name, (mark, rows) in found.items() if len(rows)}


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
        "font": {"family": FONT, "size": 13, "color": INK},
        "paper_bgcolor": "rgba(0,0,0,0)",
        "plot_bgcolor": "rgba(0,0,0,0)",
        "margin": {"l": 8, "r": 12, "t": 8, "b": 8},
        "hoverlabel": {"align": "left", "bgcolor": PAPER, "bordercolor": FAINT,
                       "font": {"family": FONT, "size": 12, "color": INK}},
        **more,
        "legend": {"orientation": "h", "x": 0, "y": 1.02, "yanchor": "bottom",
                   "font": {"size": 12}, "itemsizing": "constant", **more.get("legend", {})},
    }  # fmt: skip
