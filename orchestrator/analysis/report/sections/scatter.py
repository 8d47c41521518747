"""The first objective against another one: every config that completed, and the front."""

from __future__ import annotations

import html
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, Final

import numpy as np
import pandas as pd

from orchestrator.analysis.columns import params_of, text_of, varying_params_of
from orchestrator.analysis.composition.compose import COMPOSED
from orchestrator.analysis.recommendation.front import rests_on
from orchestrator.analysis.report.drawing import (
    AMBER,
    BLUE,
    FAINT,
    GREEN,
    MUTED,
    PAPER,
    Drawing,
    Figure,
    axis,
    bars,
)
from orchestrator.analysis.report.tables import measured
from orchestrator.analysis.report.view import View, axis_title, tick_format
from orchestrator.analysis.rule import Rule, best_of, column_of, limit_of
from orchestrator.analysis.statistics.pareto import pareto_front
from orchestrator.analysis.wording import (
    condition_text,
    lacking,
    learned_word,
    less_good,
    runs_text,
    short,
    shown,
    verdict_text,
)
from orchestrator.formats import counted
from orchestrator.metric_table import Place, names_shown
from orchestrator.metrics import Goal, Objective

MANY: Final = 300
"""With this many points they are drawn small and without intervals, or they hide each other."""

_LOG_FROM: Final = 20.0
"""Largest ratio of speeds on a linear axis; above it the axis is logarithmic."""
_PADDING: Final = 0.06
"""Margin around the visible range, as a share of it."""


@dataclass(frozen=True, kw_only=True)
class Mark:
    """One kind of mark: its word in the legend, colour, plotly's shape, size."""

    name: str
    colour: str
    symbol: str
    size: int


MARKS: Final = (
    Mark(name="recommended", colour=GREEN, symbol="star", size=17),
    Mark(name="baseline", colour=AMBER, symbol="square", size=12),
    Mark(name="on the front", colour=BLUE, symbol="diamond", size=11),
    Mark(name="other configs", colour=MUTED, symbol="circle", size=7),
)
"""Marks, the most informative first."""


def marks_of(configs: pd.DataFrame, rule: Rule) -> Iterator[tuple[Mark, pd.DataFrame]]:
    """Yield the configs of each mark that any has; marks to be drawn on top come last.

    Args:
        configs: With ``is_recommended``, ``is_baseline``, ``on_front`` and ``verdict``.
        rule: The rule; the open marks do not meet its conditions.
    """
    short_of = Mark(name=lacking(rule), colour=FAINT, symbol="circle-open", size=7)
    tests = (
        configs["is_recommended"],
        configs["is_baseline"],
        configs["on_front"],
        configs["verdict"] != "",
    )
    kinds = np.select([test.to_numpy(bool) for test in tests], range(len(MARKS)), len(MARKS))
    for kind, mark in reversed(list(enumerate((*MARKS, short_of)))):
        if (kinds == kind).any():
            yield mark, configs[kinds == kind]


def scatter_figures(view: View) -> list[Figure]:
    """Return a picture of the first objective against each other objective that any config has."""
    speed = view.rule.speed_column
    return [
        _figure(view, view.configs.dropna(subset=[speed, column_of(other)]), other)
        for other in view.beside_speed
        if view.configs[[speed, column_of(other)]].notna().all(axis=1).any()
    ]


def _figure(view: View, rows: pd.DataFrame, other: Objective) -> Figure:
    """Draw the configs that have both figures, by the runs that selected."""
    rule, (limit, seen) = view.rule, range_in_sight(view, rows, other)
    figure = Drawing(height=460, hovermode="closest", legend={"traceorder": "reversed"})
    is_edge, many = rule.directions == (rule.speed, other), len(rows) > MANY
    if is_edge:
        figure.add("scatter", **_front_line(view, rows[rows["on_front"]], other))
    marks = pd.Series("", index=rows.index, dtype="object")
    for mark, some in marks_of(rows, rule):
        figure.add("scatter", **_points(view, some, other, mark, many=many))
        marks[some.index] = mark.name
    hidden = ~rows[column_of(other)].between(*(seen or (-np.inf, np.inf)))
    speeds = rows.loc[~hidden, rule.speed_column]
    is_log = len(speeds) > 1 and speeds.min() > 0 and speeds.max() > _LOG_FROM * speeds.min()
    ticks = {"tickformat": tick_format(other.metric), "range": seen}
    figure.axes(
        axis(axis_title(rule.speed.metric), type="log" if is_log else "linear"),
        axis(axis_title(other.metric), **{k: v for k, v in ticks.items() if v}),
    )
    if limit is not None:
        figure.line(limit)
    figures = [
        f"{column_of(objective)}{end}"
        for objective in dict.fromkeys((*view.objectives, other))
        for end in ("", "_low", "_high")
    ]
    columns = [*params_of(rows), *figures, "verdict", "on_front", "num_runs"]
    table = rows[[column for column in columns if column in rows]]
    spread = "with the spread between fresh runs in them"
    parts = [
        "Each mark is a config, by the runs that selected.",
        ""
        if many
        else "Bars are 95 % intervals, "
        f"{'within the run alone' if view.tables.pool is None else spread}.",
        "Line: the edge of what the front's configs dominate." if is_edge else "",
        f"Dotted: what the rule asks for, {condition_text(other)}."
        if other in rule.conditions
        else "",
        f"{counted(int(hidden.sum()), f'{less_good(other.metric)} config')} out of sight: a double "
        "click shows all."
        if hidden.any()
        else "",
        f"{len(view.configs):,} of {view.num_configs:,} configs are drawn; trials.csv has all."
        if view.num_configs > len(view.configs)
        else "",
    ]
    return Figure(
        name=f"speed-{'accuracy' if other == view.beside_speed[0] else other.metric}",
        drawing=figure,
        table=table.assign(mark=marks, trial_ids=rows["trial_ids"].map(" ".join)),
        caption=" ".join(filter(None, parts)),
    )


def range_in_sight(
    view: View, rows: pd.DataFrame, other: Objective
) -> tuple[float | None, list[float] | None]:
    """Return the worst figure that is recommended, and the visible range of figures.

    The first is None if the figure is no condition; the second is None for all of them. The limit
    is the edge of the range; that of a figure without one lies far behind the best: one diverged
    config must not flatten the rest. Baseline and recommended config are always visible.
    """
    limits = view.rule.limits(view.all_configs) if len(view.all_configs) else {}
    known, sign, figures = limits.get(other.metric), other.sign, rows[column_of(other)]
    known = None if known is None or pd.isna(known) else float(known)
    values, best, limit = sign * figures, best_of(other, figures), known
    if limit is None:
        behind = 2.5 * float((sign * best - values).median())
        limit = best - sign * max(20 * abs(best - limit_of(other, figures)), behind)
    marked = values[rows["is_baseline"] | rows["is_recommended"]]
    low, high = min([sign * limit, *marked]), float(values.max())
    depth = (high - low) or abs(high) * _PADDING or 1.0
    low, high = low - 2 * _PADDING * depth, high + _PADDING * depth
    return known, sorted([sign * low, sign * high]) if values.min() < low else None


def _points(
    view: View, rows: pd.DataFrame, other: Objective, mark: Mark, *, many: bool
) -> dict[str, Any]:
    is_small = many and mark.size == MARKS[-1].size
    is_open = mark.symbol.endswith("-open")
    error_bars = {
        f"error_{end}": bars(rows, (column, f"{column}_low", f"{column}_high"), mark.colour)
        for end, column in (("x", view.rule.speed_column), ("y", column_of(other)))
        if f"{column}_high" in rows.columns and not many
    }
    return {
        "x": rows[view.rule.speed_column],
        "y": rows[column_of(other)],
        **error_bars,
        "mode": "markers",
        "name": mark.name,
        "marker": {"color": mark.colour, "size": 4 if is_small else mark.size, "opacity": 1.0,
                   "symbol": mark.symbol,
                   "line": {"color": mark.colour if is_open else PAPER,
                            "width": 1.5 if is_open else 0 if is_small else 1}},
        "text": hover(view, rows),
        "hovertemplate": "%{text}<extra></extra>",
    }  # fmt: skip


def _front_line(view: View, front: pd.DataFrame, other: Objective) -> dict[str, Any]:
    """Return the edge of the region that the front dominates, without interpolation."""
    speed = view.rule.speed_column
    edge = front[pareto_front(front, view.rule.directions)].sort_values(speed)
    shape = "vh" if view.rule.speed.goal is Goal.MAXIMIZE else "hv"
    return {
        "x": edge[speed],
        "y": edge[column_of(other)],
        "mode": "lines",
        "line": {"color": BLUE, "width": 1.5, "shape": shape},
        "hoverinfo": "skip",
        "showlegend": False,
    }


def hover(view: View, rows: pd.DataFrame) -> list[str]:
    """Return the words on each config: its knobs, figures, verdict and evidence, safe as HTML."""
    columns, learned = varying_params_of(view.configs), learned_word(view.rule)
    names = dict.fromkeys([*(o.metric for o in view.objectives), *names_shown(Place.HOVER)])
    metrics = measured(rows, [*names])
    texts = []
    for row in rows.to_dict("records"):
        rests = runs_text(row, learned)
        grounds = f"composed: {rests_on(row, learned)}" if row.get(COMPOSED) else f"runs: {rests}"
        bound = text_of(row.get("tags.bound"))
        lines = [
            *(f"{column.removeprefix('params.')}={short(row[column])}" for column in columns),
            *(f"{metric}: {shown(metric, row[f'metrics.{metric}'])}" for metric in metrics),
            verdict_text(row),
            f"bound by: {bound}" if bound else "",
            f"{grounds}, {row['interval']}",
        ]
        texts.append("<br>".join(html.escape(line) for line in lines if line))
    return texts
