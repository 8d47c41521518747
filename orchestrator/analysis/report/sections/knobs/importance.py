"""The knobs that a good speed, and a good accuracy, depend on most."""

from __future__ import annotations

from functools import partial
from typing import Final

import pandas as pd

from orchestrator.analysis.knobs.importance import importance_in
from orchestrator.analysis.knobs.of_run import figures_of
from orchestrator.analysis.report.figures import Drawing, Figure, rows_axis
from orchestrator.analysis.report.sections.section import Section
from orchestrator.analysis.report.style import AMBER, BLUE, axis
from orchestrator.analysis.report.view import View
from orchestrator.formats import percent

MAX_KNOBS: Final = 15
_COLOURS: Final = (BLUE, AMBER)


def importance_of(view: View) -> Section:
    """Return the section on importance; below 50 configs one line says that it is too few."""
    section = partial(Section, name="importance", title="importance")
    tables = importances(view)
    figure = importance_figure(tables)
    if figure is None:
        return section(missing=next(iter(map(_note, tables)), "no figure is known"))
    return section(figures=(figure,))


def importances(view: View) -> list[pd.DataFrame]:
    """Return the importances for the first objective, and for the accuracy where it is another."""
    metrics = dict.fromkeys((view.rule.speed.metric, view.rule.accuracy.metric))
    figures = {metric: view.all_configs.get(f"metrics.{metric}") for metric in metrics}
    known = [m for m, cells in figures.items() if cells is not None and cells.notna().any()]
    return [importance_in(figures_of(view.tables, metric)) for metric in known]


def importance_figure(tables: list[pd.DataFrame]) -> Figure | None:
    """Draw importances as bars, a group a knob; None where there is none."""
    drawn = [table for table in tables if len(table)]
    if not drawn:
        return None
    both = pd.concat(drawn, ignore_index=True)
    order = both.groupby("knob")["importance"].max().sort_values(ascending=False).index
    order = order[:MAX_KNOBS]
    figure = Drawing(barmode="group", height=100 + 30 * len(order))
    for table, colour in zip(drawn, _COLOURS, strict=False):
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
        f"({'; '.join(map(_note, drawn))}). It tells neither a direction nor "
        "how sure it is, and mixes knobs that vary together: the pairs above do not.",
        label=f"Importance of each knob; {first['knob']} has most, {percent(first['importance'])} "
        f"for {first['metric']}.",
    )


def _note(table: pd.DataFrame) -> str:
    note = str(table.attrs.get("note", "no knob varies"))
    return f"{table['metric'].iloc[0]}: {note}" if len(table) else note
