"""Time to accuracy: the time that each config took to the accuracy that the rule asks for."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

import pandas as pd

from orchestrator.analysis.columns import config_of
from orchestrator.analysis.report.sections.section import Section
from orchestrator.analysis.report.tables import Cell, Table, figure_cell, knob_cell
from orchestrator.analysis.report.view import View
from orchestrator.analysis.statistics.curves import (
    CLOCK,
    TimeToAccuracy,
    composed_time_to_accuracy,
    time_to_accuracy,
)
from orchestrator.analysis.wording import shown, telling_knobs

MAX_ROWS: Final = 16


def times_of(view: View) -> Section | None:
    """Return the times of the main group's configs; None where no curve has any."""
    if view.num_candidates:
        rows = view.trials, view.curves
        times = composed_time_to_accuracy(view.configs, *rows, view.rule)
    else:
        times = time_to_accuracy(view.configs, view.curves, view.rule)
    if times is None:
        return None
    metric = view.rule.accuracy.metric
    table = _table(times, view)
    left = f"{table.num_left_out} more, later ones, are not shown"
    return Section(
        name="time-to-accuracy",
        title=f"time to {metric} {shown(metric, times.target)}",
        level=3,
        lines=(_composed_text(metric) if view.num_candidates else _text(times, metric),),
        table=table,
        notes=(left,) if table.num_left_out else (),
    )


def _text(times: TimeToAccuracy, metric: str) -> str:
    counted = (
        "time is counted in training epochs, without evaluation"
        if times.clock == CLOCK
        else "time counts from the start of the trial's process, evaluation included"
    )
    common = shown("train_s", times.common_s)
    return (
        f"that is the {metric} the rule asks for; {counted}, and is known as finely as accuracy "
        "was evaluated. Epochs do not compare configs whose steps differ in number: the last "
        f"columns show each config when the first was there, after {common}"
    )


def _composed_text(metric: str) -> str:
    return (
        f"that is the {metric} the rule asks for; the epochs that each curve took to it, at the "
        "composed time of an epoch of each config, without evaluation"
    )


def _table(times: TimeToAccuracy, view: View) -> Table:
    metric = view.rule.accuracy.metric
    known = view.configs.loc[times.configs.index].drop(columns="num_runs").join(times.configs)
    singled = known["is_recommended"] | known["is_baseline"]
    room = MAX_ROWS - int(singled.sum())
    rows = known[singled | ((~singled).cumsum() <= room)].to_dict("records")
    knobs = telling_knobs([config_of(row, view.sweep) for row in rows], view.sweep)
    then = [f"{metric} then"] if known["accuracy"].notna().any() else []
    cells = tuple(
        (
            Cell(text=", ".join(w for w in ("recommended", "baseline") if row[f"is_{w}"])),
            *(knob_cell(row[f"params.{name}"]) for name in knobs),
            _reached_cell(row),
            Cell(text=f"{row['num_reached']} of {row['num_runs']}"),
            *(figure_cell(metric, row["accuracy"]) for _ in then),
            figure_cell("train_s", row["trained_s"]),
        )
        for row in rows
    )
    return Table(
        head=("", *knobs, "time to it (s)", "runs there", *then, "trained for (s)"),
        rows=cells,
        marks=tuple("recommended" if row["is_recommended"] else "" for row in rows),
        num_left_out=len(known) - len(rows),
    )


def _reached_cell(row: Mapping[Any, Any]) -> Cell:
    if not pd.isna(row["reached_s"]):
        return figure_cell("train_s", row["reached_s"])
    return Cell(text="by fewer than half" if row["num_reached"] else "never")
