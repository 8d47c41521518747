"""Marks of configs in the pictures: told apart by shape as well as by colour, each config once."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Final

import numpy as np
import pandas as pd

from orchestrator.analysis.report.style import AMBER, BLUE, FAINT, GREEN, MUTED
from orchestrator.analysis.rule import Rule
from orchestrator.analysis.rule_words import lacking


@dataclass(frozen=True, kw_only=True)
class Mark:
    """One kind of mark: its word in the legend, colour, plotly's and matplotlib's shape, size."""

    name: str
    colour: str
    symbol: str
    shape: str
    size: int

    @property
    def is_open(self) -> bool:
        """True where only its edge is drawn."""
        return self.symbol.endswith("-open")

    @property
    def opened(self) -> Mark:
        """The same shape, of which only the edge is drawn."""
        return self if self.is_open else replace(self, symbol=f"{self.symbol}-open")


RECOMMENDED: Final = Mark(name="recommended", colour=GREEN, symbol="star", shape="*", size=17)
BASELINE: Final = Mark(name="baseline", colour=AMBER, symbol="square", shape="s", size=12)
ON_FRONT: Final = Mark(name="on the front", colour=BLUE, symbol="diamond", shape="D", size=11)
RANKED: Final = Mark(name="other configs", colour=MUTED, symbol="circle", shape="o", size=7)
CONFIRMED: Final = "by confirm runs"
"""Word of the open marks: a config's confirm runs, beside the runs that it was selected by."""

OPEN: Final = Mark(name="", colour=FAINT, symbol="circle-open", shape="o", size=7)


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
