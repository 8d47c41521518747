"""The ladder: from the baseline to the recommended config, one knob a step."""

from __future__ import annotations

import html
from functools import partial
from typing import Any, Final

import pandas as pd

from orchestrator.analysis.knobs.figures import Kind
from orchestrator.analysis.knobs.ladder import Ladder, Step, ladder
from orchestrator.analysis.knobs.of_run import kind_of
from orchestrator.analysis.report.figures import Drawing, Figure, rows_axis
from orchestrator.analysis.report.sections.knobs.outcomes import (
    NONE,
    effect_cell,
    effect_text,
    ends_text,
    is_too_wide,
    legend_of,
    outcome_of,
    row_of,
    why,
    word_of,
)
from orchestrator.analysis.report.sections.section import Section
from orchestrator.analysis.report.style import INK, MUTED, axis
from orchestrator.analysis.report.tables import Cell, Table
from orchestrator.analysis.report.view import View
from orchestrator.analysis.rule import column_of
from orchestrator.metrics import Objective, is_learned
from orchestrator.space.knob import Role

_TITLE: Final = "From the baseline to the recommended settings"
_NOTE: Final = (
    "each step keeps the settings of the steps above it; these are the runs that selected: what "
    "confirm runs say of the whole is on the first screen"
)


def ladder_of(view: View) -> Section | None:
    """Return the section; None where nothing is recommended."""
    steps = steps_of_ladder(view)
    if steps is None:
        return None
    section = partial(Section, name="ladder", title=_TITLE)
    if not steps.steps:
        is_baseline = steps.note == "the config is the baseline"
        words = "the baseline itself is recommended: there is no step to take"
        return section(missing=words if is_baseline else f"there is no ladder ({steps.note})")
    figure = ladder_figure(view, steps)
    return section(
        table=_table(steps, view),
        notes=(_NOTE, *_legend(steps), *_to_try(steps)),
        figures=(figure,) if figure else (),
    )


def steps_of_ladder(view: View) -> Ladder | None:
    """Return the steps to the recommended config; None where there is none."""
    config = view.findings.config
    return None if config is None else ladder(view.tables, config)


def _table(steps: Ladder, view: View) -> Table:
    speed, accuracy = view.rule.speed, view.rule.accuracy
    heads = [speed.metric] if speed == accuracy else [speed.metric, accuracy.metric]
    cells = [
        (
            Cell(text=step.text),
            *_cells(step, speed, view),
            *(_cells(step, accuracy, view) if len(heads) > 1 else ()),
        )
        for step in steps.steps
    ]
    return Table(
        head=(
            "step",
            *(head for m in heads for head in (f"change of {m}", "95 % interval", "verdict")),
        ),
        rows=tuple(cells),
        marks=("",) * len(cells),
    )


def _cells(step: Step, objective: Objective, view: View) -> tuple[Cell, ...]:
    mean = step.speed if objective == view.rule.speed else step.accuracy
    if mean is None:
        return (Cell(text=_why_none(step, objective, view)), Cell(text=""), Cell(text=""))
    row = row_of(mean, _kind(objective, view), objective.metric)
    ends = ends_text(row["kind"], objective.metric, row["low"], row["high"])
    return (
        effect_cell(row),
        Cell(text=ends or why(row)),
        Cell(text=word_of(outcome_of(row, view.rule), objective.metric, view.rule)),
    )


def _why_none(step: Step, objective: Objective, view: View) -> str:
    return "none, by its role" if _is_none_by_role(step, objective, view) else NONE


def _is_none_by_role(step: Step, objective: Objective, view: View) -> bool:
    """Return True where both composed figures are of the same runs, since nothing changes them."""
    role = Role.SYSTEMS if is_learned(objective.metric) else Role.LEARNING
    return bool(view.num_candidates) and {view.tables.roles[n] for n in step.changes} == {role}


def _legend(steps: Ladder) -> list[str]:
    means = [mean for step in steps.steps for mean in (step.speed, step.accuracy) if mean]
    return legend_of(
        pd.DataFrame([{"composed": m.composed, "contaminated": m.contaminated} for m in means])
    )


def _kind(objective: Objective, view: View) -> Kind:
    return kind_of(objective.metric, view.tables.configs[column_of(objective)].dropna())


def ladder_figure(view: View, steps: Ladder) -> Figure | None:
    """Draw the first objective from step to step; None where no step's is known.

    A step of which it is not known has no bar, and neither have those after it: their place
    on the axis is not known.
    """
    objective = view.rule.speed
    kind = _kind(objective, view)
    rows = _levels(steps, kind, view)
    if not rows:
        return None
    nothing = 1.0 if kind is Kind.RATIO else 0.0
    names = [html.escape(row["step"]).replace(" ", "<br>") for row in rows]
    outcomes = [outcome_of(row, view.rule) for row in rows]
    texts = [
        f"{effect_text(row['kind'], objective.metric, row['effect'])} {outcome.symbol}"
        for row, outcome in zip(rows, outcomes, strict=True)
    ]
    told = [f"{row['step']} {text}" for row, text in zip(rows, texts, strict=True)]
    num_lines = sum(name.count("<br>") for name in names)
    height = 110 + 34 * len(rows) + 14 * num_lines
    figure = Drawing(height=height, bargap=0.45, showlegend=False)
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
    figure.line(nothing, along="y", color=MUTED, width=1, dash="dot")
    ends = [row[end] for row in rows for end in ("before", "after")]
    width = max(ends) - min(ends) or 0.1
    title = "times the baseline" if kind is Kind.RATIO else "more than the baseline"
    # Room for the words beside the bars, on a phone as well.
    shown_range = [min(ends) - 0.08 * width, max(ends) + 0.4 * width]
    figure.axes(axis(title, range=shown_range), rows_axis(names))
    return Figure(
        name="ladder-steps",
        drawing=figure,
        table=pd.DataFrame(rows).drop(columns=["kind"]),
        caption=f"{objective.metric}: each bar begins where the one above ends. Dotted: the "
        "baseline.",
        label=f"What each step brings: {'; '.join(told)}.",
    )


def _levels(steps: Ladder, kind: Kind, view: View) -> list[dict[str, Any]]:
    """Return the steps as far as the figure is known, each with where it begins and ends."""
    level, rows = 1.0 if kind is Kind.RATIO else 0.0, list[dict[str, Any]]()
    objective = view.rule.speed
    for step in steps.steps:
        if _is_none_by_role(step, objective, view):
            continue
        row = None if step.speed is None else row_of(step.speed, kind, objective.metric)
        if step.speed is None or row is None or is_too_wide(row):
            break
        after = level * step.speed.effect if kind is Kind.RATIO else level + step.speed.effect
        rows.append({"step": step.text, "before": level, "after": after, **row})
        level = after
    return rows


def _to_try(steps: Ladder) -> list[str]:
    """Return what would tell the knobs of a joint step apart."""
    joint: list[Step] = [step for step in steps.steps if step.to_try]
    return [
        f"what each of {', '.join(step.changes)} brings is not known: "
        f"{' or '.join(step.to_try)} would tell"
        for step in joint
    ]
