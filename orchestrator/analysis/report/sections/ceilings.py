"""Ceilings of each config, the gain that they leave, and speeds composed of them."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Final

import pandas as pd

from orchestrator.analysis.bottlenecks.gains import COMPUTE, LOADER, SPEED, Gain, gains_of
from orchestrator.analysis.bottlenecks.prediction import Predicted, Predictions, predictions
from orchestrator.analysis.columns import config_of, text_of
from orchestrator.analysis.report.tables import Cell, Table, figure_cell, knob_cell
from orchestrator.analysis.report.view import View
from orchestrator.analysis.statistics.intervals import is_narrow
from orchestrator.analysis.wording import counted, format_config, percent, shown, telling_knobs

MAX_ROWS: Final = 16
MAX_PREDICTED: Final = 8

WORTH: Final = 1.05
"""A smaller gain is called none."""
MOST_TIMES: Final = 10.0
"""A gain of more times is not told apart: all of the time goes to one part."""
TRUSTED_ERROR: Final = 0.15
"""With a larger median error composed speeds are not shown."""


@dataclass(frozen=True, kw_only=True)
class CeilingsShown:
    """The report's section on ceilings.

    Attributes:
        table: The configs with their ceilings and what limits them, the fastest first.
        predicted: Composed speeds of settings that were not tried; None for none.
        trust: How far to trust these, in a sentence, or "".
    """

    table: Table
    predicted: Table | None
    trust: str


def ceilings_of(view: View) -> CeilingsShown | None:
    """Return the ceilings of the main group's configs; None where none was measured."""
    configs = view.configs
    if not {SPEED, LOADER, COMPUTE} <= set(configs.columns):
        return None
    known = configs.dropna(subset=[SPEED, LOADER, COMPUTE])
    if known.empty:
        return None
    composed = predictions(known, view.sweep)
    untried = composed.untried if composed else ()
    return CeilingsShown(
        table=_table(known, view),
        predicted=_predicted(untried, view) if untried and _is_trusted(composed) else None,
        trust=trust_text(composed) if composed and (untried or composed.checked) else "",
    )


def _is_trusted(composed: Predictions | None) -> bool:
    """Return True where composed speeds of settings that ran were near the measured ones."""
    error = None if composed is None else composed.median_error
    return error is not None and error <= TRUSTED_ERROR


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


def _predicted(untried: tuple[Predicted, ...], view: View) -> Table:
    cells = tuple(
        (
            Cell(text=format_config(predicted.config, view.sweep)),
            Cell(text=shown("samples_per_s", predicted.speed), number=predicted.speed),
        )
        for predicted in untried[:MAX_PREDICTED]
    )
    return Table(
        head=("config, not tried", "samples/s, composed"),
        rows=cells,
        marks=("",) * len(cells),
        num_left_out=len(untried) - len(cells),
    )


def trust_text(composed: Predictions) -> str:
    """Return how far to trust composed speeds, in a sentence."""
    error, untried = composed.median_error, "speeds of worker counts that were not tried are"
    if error is None:
        return f"{untried} not known: too few were tried to check what the ceilings say"
    checked = (
        f"where {counted(composed.num_checked, 'config')} that ran were predicted from the others, "
        f"the median error was {percent(error)}"
    )
    if error > TRUSTED_ERROR:
        return f"{untried} not known: {checked}"
    if not composed.untried:
        return f"all worker counts up to the cores were tried; {checked}"
    return f"composed from the ceilings, not measured; {checked}"


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
