"""The ladder: from the baseline to the recommended config, one knob a step."""

from __future__ import annotations

import html
from typing import Any, Final

import pandas as pd

from orchestrator.analysis.knobs.figures import Kind
from orchestrator.analysis.knobs.ladder import Ladder, Step, ladder
from orchestrator.analysis.knobs.of_run import kind_of
from orchestrator.analysis.report.drawing import INK, Drawing, Figure, axis, rows_axis
from orchestrator.analysis.report.sections.knobs.outcomes import (
    NONE,
    effect_cells,
    effect_text,
    is_too_wide,
    legend_of,
    outcome_of,
    row_of,
)
from orchestrator.analysis.report.tables import INTERVAL, Cell, Section, Table
from orchestrator.analysis.report.view import View
from orchestrator.analysis.rule import column_of
from orchestrator.metrics import Objective, is_learned
from orchestrator.space.knob import Role

_NOTE: Final = (
    "each step keeps the settings of the steps above it; these are the runs that selected: the "
    "first screen has the confirm runs of the whole"
)

_COLUMNS: Final = ["step", "before", "after", "metric", "effect", "low", "high", "verdict",
                   "basis", "composed"]  # fmt: skip
"""Columns of the figure's table."""


def ladder_of(view: View) -> Section | None:
    """Return the section; None if nothing is recommended."""
    config, name = view.findings.config, "ladder"
    title = "From the baseline to the recommended settings"
    if config is None:
        return None
    steps = ladder(view.tables, config)
    if not steps.steps:
        return Section(name, title, missing=f"there is no ladder ({steps.note})")
    figure = ladder_figure(view, steps)
    rows = [_row(step, o, view) for step in steps.steps for o in _objectives(view)]
    known = pd.DataFrame([row for row in rows if row], columns=["composed", "contaminated"])
    to_try = [
        f"what each of {', '.join(step.changes)} brings is not known: "
        f"{' or '.join(step.to_try)} would tell"
        for step in steps.steps
        if step.to_try
    ]
    return Section(
        name,
        title,
        table=_table(steps, view),
        notes=(_NOTE, *legend_of(known), *to_try),
        figures=(figure,) if figure else (),
    )


def _table(steps: Ladder, view: View) -> Table:
    objectives = _objectives(view)
    heads = [head for o in objectives for head in (f"change of {o.metric}", INTERVAL, "verdict")]
    rows = tuple(
        (Cell(step.text), *(cell for o in objectives for cell in _cells(step, o, view)))
        for step in steps.steps
    )
    return Table(head=("step", *heads), rows=rows)


def _objectives(view: View) -> list[Objective]:
    return list(dict.fromkeys((view.rule.speed, view.rule.accuracy)))


def _row(step: Step, objective: Objective, view: View) -> dict[str, Any] | None:
    """Return the step's effect on an objective as a row of effects; None if it is not known."""
    mean = step.speed if objective == view.rule.speed else step.accuracy
    return None if mean is None else row_of(mean, _kind(objective, view), objective.metric)


def _cells(step: Step, objective: Objective, view: View) -> tuple[Cell, ...]:
    row = _row(step, objective, view)
    if row is None:
        none = "none, by its role" if _is_none_by_role(step, objective, view) else NONE
        return (Cell(none), Cell(""), Cell(""))
    return effect_cells(row, view.rule)


def _is_none_by_role(step: Step, objective: Objective, view: View) -> bool:
    """Return True if both composed figures are from the same runs, since nothing changes them."""
    role = Role.SYSTEMS if is_learned(objective.metric) else Role.LEARNING
    return bool(view.num_candidates) and {view.tables.roles[n] for n in step.changes} == {role}


def _kind(objective: Objective, view: View) -> Kind:
    return kind_of(objective.metric, view.tables.configs[column_of(objective)].dropna())


def ladder_figure(view: View, steps: Ladder) -> Figure | None:
    """Draw the first objective from step to step; None if it is known for no step.

    A step with an unknown figure has no bar, and neither have the steps after it: their place
    on the axis is not known.
    """
    metric, is_ratio = view.rule.speed.metric, _kind(view.rule.speed, view) is Kind.RATIO
    rows = _levels(steps, view)
    if not rows:
        return None
    names = [html.escape(row["step"]).replace(" ", "<br>") for row in rows]
    outcomes = [outcome_of(row, view.rule) for row in rows]
    texts = [
        f"{effect_text(row)} {outcome.symbol}" for row, outcome in zip(rows, outcomes, strict=True)
    ]
    num_lines = sum(name.count("<br>") for name in names)
    figure = Drawing(height=110 + 34 * len(rows) + 14 * num_lines, bargap=0.45, showlegend=False)
    figure.add(
        "bar",
        base=[row["before"] for row in rows],
        x=[row["after"] - row["before"] for row in rows],
        y=names,
        orientation="h",
        marker={"color": [outcome.colour for outcome in outcomes], "line": {"width": 0}},
        text=texts,
        textposition="outside",
        textfont={"color": INK},
        cliponaxis=False,
        hovertemplate="%{y}<br>%{text}<extra></extra>",
    )
    figure.line(1.0 if is_ratio else 0.0, along="y")
    ends = [row[end] for row in rows for end in ("before", "after")]
    width = max(ends) - min(ends) or 0.1
    title = "times the baseline" if is_ratio else "more than the baseline"
    # Room for the words next to the bars, on a phone as well.
    shown_range = [min(ends) - 0.08 * width, max(ends) + 0.4 * width]
    figure.axes(axis(title, range=shown_range), rows_axis(names))
    return Figure(
        name="ladder-steps",
        drawing=figure,
        table=pd.DataFrame(rows)[_COLUMNS],
        caption=f"{metric}: each bar begins where the one above ends. Dotted: the baseline.",
    )


def _levels(steps: Ladder, view: View) -> list[dict[str, Any]]:
    """Return the steps as far as the figure is known, each with where it begins and ends."""
    objective = view.rule.speed
    kind, rows = _kind(objective, view), list[dict[str, Any]]()
    level = 1.0 if kind is Kind.RATIO else 0.0
    for step in steps.steps:
        if _is_none_by_role(step, objective, view):
            continue
        row = _row(step, objective, view)
        if row is None or is_too_wide(row):
            break
        after = level * row["effect"] if kind is Kind.RATIO else level + row["effect"]
        rows.append({"step": step.text, "before": level, "after": after, **row})
        level = after
    return rows
