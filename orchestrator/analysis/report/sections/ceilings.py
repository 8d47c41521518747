"""Ceilings of each config, and the gain up to them."""

from __future__ import annotations

import math
from typing import Final

from orchestrator.analysis.columns import text_of
from orchestrator.analysis.report.tables import Cell, Section, figure_of, table_of_configs
from orchestrator.analysis.report.view import View
from orchestrator.analysis.statistics.gains import COMPUTE, LOADER, SPEED, Gain, gains_of
from orchestrator.analysis.statistics.intervals import is_narrow

MAX_ROWS: Final = 16

WORTH: Final = 1.05
"""A smaller gain is called none."""
MOST_TIMES: Final = 10.0
"""Larger gains are not distinguished: all of the time goes to one part."""
_HOW: Final = (
    "each trial also ran its loader alone, using none of its batches, and its model alone, over "
    "batches that were there already. Loading and computing at the same time can exceed neither"
)


def ceilings_of(view: View) -> Section | None:
    """Return the ceilings of the main group's configs; None if none was measured."""
    configs = view.configs
    if not {SPEED, LOADER, COMPUTE} <= set(configs.columns):
        return None
    known = configs.dropna(subset=[SPEED, LOADER, COMPUTE])
    if known.empty:
        return None
    chosen = view.singled_first(known, SPEED).head(MAX_ROWS)
    chosen = chosen.sort_values(SPEED, ascending=False, kind="stable")
    gains = gains_of(view.trials, chosen)
    table = table_of_configs(
        view,
        chosen.assign(gain=[gain_text(gain) for gain in gains]),
        [
            ("samples_per_s", lambda row: figure_of(row, "samples_per_s")),
            ("loader alone", lambda row: figure_of(row, LOADER.removeprefix("metrics."))),
            ("model alone", lambda row: figure_of(row, COMPUTE.removeprefix("metrics."))),
            ("bound by", lambda row: Cell(text=text_of(row.get("tags.bound")))),
            ("to gain", lambda row: Cell(text=row["gain"])),
        ],
        num_all=len(known),
    )
    title = "What bounds each config"
    return Section(name="ceilings", title=title, lines=(_HOW,), table=table)


def gain_text(gain: Gain) -> str:
    """Return ``4.1x (3.9x to 4.3x) if the loader were free``, as far as that is known."""
    if math.isnan(gain.low):
        return "not known: no config ran twice" if gain.ratio >= WORTH else "next to nothing"
    if not is_narrow(gain.low, gain.high):
        return "not known: its runs' ceilings differ too much"
    if gain.low < 1 and gain.high >= WORTH**2:
        return f"not known: {gain.low:.2f}x to {gain.high:.2f}x if {gain.part} were free"
    if gain.low < 1 or gain.ratio < WORTH:
        return "next to nothing"
    if gain.low > MOST_TIMES:
        return f"over {MOST_TIMES:.0f}x if {gain.part} were free: it takes nearly all of the time"
    digits = 2 if gain.ratio < 2 else 1
    times, low, high = (f"{end:.{digits}f}x" for end in (gain.ratio, gain.low, gain.high))
    return f"{times} ({low} to {high}) if {gain.part} were free"
