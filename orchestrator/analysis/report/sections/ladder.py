"""The ladder: from the baseline to the recommended config, one knob a step, with its effect.

Its steps are configs that were run. Each step changes as few knobs as the configs that were run
allow; of several such configs it takes the fastest. The figures are from the searching runs, as in
the table of configs.
"""

from __future__ import annotations

import html
from collections.abc import Mapping, Sequence
from itertools import pairwise
from typing import Any, Final, NamedTuple

import numpy as np
import pandas as pd

from orchestrator.analysis.columns import TableError
from orchestrator.analysis.knobs.figures import Figures, Kind, Verdict
from orchestrator.analysis.knobs.of_run import figures_of
from orchestrator.analysis.report.drawing import Colour, Figure, axis, rows_axis
from orchestrator.analysis.report.sections.effects import (
    effect_cells,
    effect_text,
    is_too_wide,
    legend_of,
    outcome_of,
)
from orchestrator.analysis.report.tables import INTERVAL, Cell, Section, Table
from orchestrator.analysis.report.view import View
from orchestrator.analysis.tables.run_tables import RunTables
from orchestrator.space.configs import changed_knobs, format_setting

_NOTE: Final = (
    "each step keeps the settings of the steps above it; these are the runs that selected: the "
    "first screen has the confirm runs of the whole"
)

_COLUMNS: Final = ["step", "before", "after", "metric", "effect", "low", "high", "verdict",
                   "basis", "composed"]  # fmt: skip
"""Columns of the figure's table."""


class Step(NamedTuple):
    """One step: the knobs that change, and their effect.

    Attributes:
        changes: The new value of each knob, by name; several if the configs between were not
            run, so that the effect of each is not known.
        effects: Its effect on the first objective and on the accuracy, by metric, as a row of
            :meth:`~orchestrator.analysis.knobs.figures.Figures.effect`; None if it is not known.
    """

    changes: Mapping[str, Any]
    effects: Mapping[str, dict[str, Any] | None]

    @property
    def text(self) -> str:
        """The changes in the form of the command line."""
        return " ".join(format_setting(name, value) for name, value in self.changes.items())


def ladder(tables: RunTables, config: Mapping[str, Any]) -> list[Step]:
    """Return the ladder from the sweep's baseline to a config.

    Raises:
        TableError: The config is the baseline, or an end of the ladder has no speed.
    """
    baseline = tables.sweep.baseline
    changed = {name: config[name] for name in changed_knobs(config, baseline)}
    if not changed:
        raise TableError("the config is the baseline")
    speed, accuracy = tables.rule.speed.metric, tables.rule.accuracy.metric
    figures = {m: next(iter(figures_of(tables, m)), None) for m in (speed, accuracy)}
    nodes = {m: _nodes(of, baseline, changed) if of else {} for m, of in figures.items()}
    of_speed = figures[speed]
    if of_speed is None or not {0, 2 ** len(changed) - 1} <= set(nodes[speed]):
        raise TableError("the baseline or the config has no speed of a completed searching run")
    sign = tables.rule.speed.sign
    gains = {node: sign * float(of_speed.levels[row]) for node, row in nodes[speed].items()}
    bits = [(1 << index, item) for index, item in enumerate(changed.items())]
    return [
        Step(
            {name: value for bit, (name, value) in bits if bit & end & ~start},
            {m: _effect(of, nodes[m], start, end) for m, of in figures.items()},
        )
        for start, end in pairwise(_way(gains))
    ]


def _nodes(
    figures: Figures, baseline: Mapping[str, Any], changed: Mapping[str, Any]
) -> dict[int, int]:
    """Return the rows of the configs between the two that have a figure.

    The key is a number; its bits show which knobs have changed.
    """
    inside, nodes = figures.known.copy(), np.zeros(len(figures.points), dtype=np.int64)
    bits = {name: 1 << index for index, name in enumerate(changed)}
    for name, codes in figures.points.codes.items():
        is_changed = np.zeros(len(codes), dtype=np.bool_)
        if name in changed:
            is_changed = codes == figures.code(name, changed[name])
        inside &= is_changed | (codes == figures.code(name, baseline.get(name)))
        nodes += bits.get(name, 0) * is_changed
    rows = np.flatnonzero(inside)
    return dict(zip(nodes[rows].tolist(), rows.tolist(), strict=True))


def _way(levels: Mapping[int, float]) -> list[int]:
    """Return the configs to go through, by their numbers, from 0 to the one with all bits."""
    way = [0]
    while (here := way[-1]) != max(levels):
        after = [node for node in levels if node & here == here and node != here]
        way.append(min(after, key=lambda node: (node.bit_count(), -levels[node])))
    return way


def _effect(
    figures: Figures | None, nodes: Mapping[int, int], start: int, end: int
) -> dict[str, Any] | None:
    if figures is None or start not in nodes or end not in nodes:
        return None
    return figures.effect([np.array([nodes[start]]), np.array([nodes[end]])], (-1, 1))


def ladder_of(view: View) -> Section | None:
    """Return the section; None if nothing is recommended."""
    config, name = view.findings.config, "ladder"
    title = "From the baseline to the recommended settings"
    if config is None:
        return None
    try:
        steps = ladder(view.tables, config)
    except TableError as error:
        return Section(name, title, missing=f"there is no ladder ({error})")
    heads = [
        head for metric in steps[0].effects for head in (f"change of {metric}", INTERVAL, "verdict")
    ]
    rows = tuple(
        (
            Cell(step.text),
            *(cell for row in step.effects.values() for cell in effect_cells(row, view.rule)),
        )
        for step in steps
    )
    known = [row for step in steps for row in step.effects.values() if row and row["num"]]
    joint = [
        f"what each of {', '.join(step.changes)} brings is not known: no config between was run"
        for step in steps
        if len(step.changes) > 1
    ]
    return Section(
        name,
        title,
        table=Table(head=("step", *heads), rows=rows),
        notes=(_NOTE, *legend_of(known), *joint),
        figures=_figures(view, steps),
    )


def _figures(view: View, steps: Sequence[Step]) -> tuple[Figure, ...]:
    """Draw the first objective from step to step; () if it is known for no step."""
    metric = view.rule.speed.metric
    rows = _levels(steps, metric)
    if not rows:
        return ()
    is_ratio = rows[0]["kind"] == Kind.RATIO
    names = [html.escape(row["step"]).replace(" ", "<br>") for row in rows]
    outcomes = [outcome_of(row, view.rule) for row in rows]
    texts = [
        f"{effect_text(row)} {outcome.symbol}" for row, outcome in zip(rows, outcomes, strict=True)
    ]
    num_lines = sum(name.count("<br>") for name in names)
    figure = Figure(
        "ladder-steps",
        pd.DataFrame(rows)[_COLUMNS],
        f"{metric}: each bar begins where the one above ends. Dotted: the baseline.",
        height=110 + 34 * len(rows) + 14 * num_lines,
        bargap=0.45,
        showlegend=False,
    )
    figure.add(
        "bar",
        base=[row["before"] for row in rows],
        x=[row["after"] - row["before"] for row in rows],
        y=names,
        orientation="h",
        marker={"color": [outcome.colour for outcome in outcomes], "line": {"width": 0}},
        text=texts,
        textposition="outside",
        textfont={"color": Colour.INK},
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
    return (figure,)


def _levels(steps: Sequence[Step], metric: str) -> list[dict[str, Any]]:
    """Return the steps that change a figure, each with where it begins and ends.

    None is returned after a step of which the effect is not known.
    """
    rows: list[dict[str, Any]] = []
    for step in steps:
        row = step.effects[metric]
        if row is not None and row["verdict"] == Verdict.SAME_RUNS:
            continue
        if row is None or is_too_wide(row):
            break
        is_ratio = row["kind"] == Kind.RATIO
        before = rows[-1]["after"] if rows else 1.0 if is_ratio else 0.0
        after = before * row["effect"] if is_ratio else before + row["effect"]
        rows.append({"step": step.text, "before": before, "after": after, **row})
    return rows
