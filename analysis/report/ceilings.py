"""What bounds each config and what there is to gain: ceilings, and speeds composed of them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

import pandas as pd

from analysis.bottlenecks.headroom import gain_text, gains_of
from analysis.bottlenecks.prediction import COMPUTE, LOADER, SPEED, Predicted, predictions
from analysis.columns import config_of, text_of
from analysis.report.tables import Cell, Table, figure_cell, knob_cell
from analysis.report.view import View
from analysis.wording import label, shown, telling_knobs

MAX_ROWS: Final = 16
MAX_PREDICTED: Final = 8


@dataclass(frozen=True, kw_only=True)
class CeilingsShown:
    """What the report says of ceilings.

    Attributes:
        table: The configs with their ceilings and what bounds them, the fastest first.
        predicted: Composed speeds of worker counts that were not tried; None for none.
        trust: How far to trust these, in a sentence, or "".
    """

    table: Table
    predicted: Table | None
    trust: str


def ceilings_of(view: View) -> CeilingsShown | None:
    """The ceilings of the main group's configs; None where none was measured."""
    configs = view.configs
    if not {SPEED, LOADER, COMPUTE} <= set(configs.columns):
        return None
    known = configs.dropna(subset=[SPEED, LOADER, COMPUTE])
    if known.empty:
        return None
    found = predictions(known, view.sweep)
    untried = found.untried if found else ()
    return CeilingsShown(
        table=_table(known, view),
        predicted=_predicted(untried, view) if untried else None,
        trust=found.text if found and (found.untried or found.checked) else "",
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


def _predicted(untried: tuple[Predicted, ...], view: View) -> Table:
    cells = tuple(
        (
            Cell(text=label(one.config, view.sweep)),
            Cell(text=shown("samples_per_s", one.speed), number=one.speed),
        )
        for one in untried[:MAX_PREDICTED]
    )
    return Table(
        head=("config, not tried", "samples/s, composed"),
        rows=cells,
        marks=("",) * len(cells),
        num_left_out=len(untried) - len(cells),
    )
