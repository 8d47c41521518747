"""Ceilings of each config, and the gain that they leave."""

from __future__ import annotations

import math
from typing import Final

import pandas as pd

from orchestrator.analysis.columns import config_of, text_of
from orchestrator.analysis.report.sections.section import Section
from orchestrator.analysis.report.tables import Cell, Table, figure_cell, knob_cell
from orchestrator.analysis.report.view import View
from orchestrator.analysis.statistics.gains import COMPUTE, LOADER, SPEED, Gain, gains_of
from orchestrator.analysis.statistics.intervals import is_narrow
from orchestrator.analysis.wording import telling_knobs

MAX_ROWS: Final = 16

WORTH: Final = 1.05
"""A smaller gain is called none."""
MOST_TIMES: Final = 10.0
"""A gain of more times is not told apart: all of the time goes to one part."""
_HOW: Final = (
    "each trial also ran its loader alone, using none of its batches, and its model alone, over "
    "batches that were there already. Loading and computing at the same time can exceed neither"
)


def ceilings_of(view: View) -> Section | None:
    """Return the ceilings of the main group's configs; None where none was measured."""
    configs = view.configs
    if not {SPEED, LOADER, COMPUTE} <= set(configs.columns):
        return None
    known = configs.dropna(subset=[SPEED, LOADER, COMPUTE])
    if known.empty:
        return None
    table = _table(known, view)
    left = f"{table.num_left_out} more, slower ones, are not shown"
    return Section(
        name="ceilings",
        title="What bounds each config",
        lines=(_HOW,),
        table=table,
        notes=(left,) if table.num_left_out else (),
    )


def _table(known: pd.DataFrame, view: View) -> Table:
    first = known.assign(singled=known["is_recommended"] | known["is_baseline"]).sort_values(
        ["singled", SPEED], ascending=False, kind="stable"
    )
    chosen = first.head(MAX_ROWS).sort_values(SPEED, ascending=False, kind="stable")
    rows, gains = chosen.to_dict("records"), gains_of(view.trials, chosen)
    knobs = telling_knobs([config_of(row, view.sweep) for row in rows], view.sweep)
    cells = tuple(
        (
            Cell(text=", ".join(w for w in ("recommended", "baseline") if row[f"is_{w}"])),
            *(knob_cell(row[f"params.{name}"]) for name in knobs),
            figure_cell("samples_per_s", row[SPEED]),
            figure_cell("samples_per_s", row[LOADER]),
            figure_cell("samples_per_s", row[COMPUTE]),
            Cell(text=text_of(row.get("tags.bound"))),
            Cell(text=gain_text(gain)),
        )
        for row, gain in zip(rows, gains, strict=True)
    )
    return Table(
        head=("", *knobs, "samples_per_s", "loader alone", "model alone", "bound by", "to gain"),
        rows=cells,
        marks=tuple("recommended" if row["is_recommended"] else "" for row in rows),
        num_left_out=len(known) - len(rows),
    )


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
