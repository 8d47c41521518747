"""Time to accuracy: the time in which each config reached the accuracy that the rule requires."""

from __future__ import annotations

from typing import Final

import pandas as pd

from orchestrator.analysis.report.tables import Cell, Row, Section, figure_cell, table_of_configs
from orchestrator.analysis.report.view import View
from orchestrator.analysis.statistics.curves import (
    CLOCK,
    composed_time_to_accuracy,
    time_to_accuracy,
)
from orchestrator.analysis.wording import shown

MAX_ROWS: Final = 16


def times_of(view: View) -> Section | None:
    """Return the times of the main group's configs; None if no curve has any."""
    metric = view.rule.accuracy.metric
    start = f"that is the {metric} the rule asks for"
    if view.num_candidates:
        rows = view.trials, view.curves
        times = composed_time_to_accuracy(view.configs, *rows, view.rule)
        line = (
            f"{start}; the epochs that each curve took to it, at the composed time of an epoch of "
            "each config, without evaluation"
        )
    else:
        times = time_to_accuracy(view.configs, view.curves, view.rule)
        from_start = "from the start of the trial's process, evaluation included"
        line = (
            f"{start}; time counts "
            f"{'in training epochs alone' if times and times.clock == CLOCK else from_start}, as "
            "finely as accuracy was evaluated. The last columns show each config when the first "
            "was there"
        )
    if times is None:
        return None
    known = view.configs.loc[times.configs.index].drop(columns="num_runs").join(times.configs)
    singled = known["is_recommended"] | known["is_baseline"]
    room = MAX_ROWS - int(singled.sum())
    has_then = bool(known["accuracy"].notna().any())
    then = [(f"{metric} then", lambda row: figure_cell(metric, row["accuracy"]))] * has_then
    table = table_of_configs(
        view,
        known[singled | ((~singled).cumsum() <= room)],
        [
            ("time to it (s)", _reached_cell),
            ("runs there", lambda row: Cell(text=f"{row['num_reached']} of {row['num_runs']}")),
            *then,
            ("trained for (s)", lambda row: figure_cell("train_s", row["trained_s"])),
        ],
        num_all=len(known),
    )
    return Section(
        name="time-to-accuracy",
        title=f"time to {metric} {shown(metric, times.target)}",
        level=3,
        lines=(line,),
        table=table,
    )


def _reached_cell(row: Row) -> Cell:
    if not pd.isna(row["reached_s"]):
        return figure_cell("train_s", row["reached_s"])
    return Cell(text="by fewer than half" if row["num_reached"] else "never")
