"""The knobs that a good speed, and a good accuracy, depend on most."""

from __future__ import annotations

from typing import Final

import pandas as pd

from orchestrator.analysis.knobs.importance import importance_in
from orchestrator.analysis.knobs.of_run import figures_of
from orchestrator.analysis.report.drawing import AMBER, BLUE, Drawing, Figure, axis, rows_axis
from orchestrator.analysis.report.tables import Section, measured
from orchestrator.analysis.report.view import View
from orchestrator.formats import percent

MAX_KNOBS: Final = 15


def importance_of(view: View) -> Section:
    """Return the section on importance; with too few configs one line gives their number."""
    metrics = [view.rule.speed.metric, view.rule.accuracy.metric]
    known = measured(view.all_configs, metrics)
    tables = [importance_in(figures_of(view.tables, metric)) for metric in known]
    drawn = [table for table in tables if len(table)]
    return Section(
        name="importance",
        title="importance",
        missing="" if drawn else next(iter(map(_note, tables)), "no figure is known"),
        figures=(_figure(drawn),) if drawn else (),
    )


def _figure(tables: list[pd.DataFrame]) -> Figure:
    """Draw importances as bars, a group a knob."""
    both = pd.concat(tables, ignore_index=True)
    order = both.groupby("knob")["importance"].max().sort_values(ascending=False).index
    order = order[:MAX_KNOBS]
    figure = Drawing(barmode="group", height=100 + 30 * len(order))
    for table, colour in zip(tables, (BLUE, AMBER), strict=False):
        shares = table.set_index("knob")["importance"].reindex(order).fillna(0.0)
        metric = table["metric"].iloc[0]
        figure.add(
            "bar",
            x=shares.tolist(),
            y=list(order),
            name=f"for {metric}",
            orientation="h",
            marker={"color": colour, "line": {"width": 0}},
            hovertemplate=f"%{{y}}: %{{x:.0%}} of {metric}<extra></extra>",
        )
    shares_axis = axis("share of the importance", tickformat=".0%", rangemode="tozero")
    figure.axes(shares_axis, rows_axis(list(order)))
    first = both.sort_values("importance", ascending=False).iloc[0]
    return Figure(
        name="importance-shares",
        drawing=figure,
        table=both[["knob", "metric", "importance", "num_configs", "composed"]],
        caption="PED-ANOVA: how much a knob matters for being among the best tenth of the configs "
        f"({'; '.join(map(_note, tables))}). It tells neither a direction nor "
        "how sure it is, and mixes knobs that vary together: the pairs above do not.",
        label=f"Importance of each knob; {first['knob']} has most, {percent(first['importance'])} "
        f"for {first['metric']}.",
    )


def _note(table: pd.DataFrame) -> str:
    note = str(table.attrs.get("note", "no knob varies"))
    return f"{table['metric'].iloc[0]}: {note}" if len(table) else note
