"""The first objective against another one: every config that completed, and the front."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Final

import numpy as np
import pandas as pd
import plotly.graph_objects as go

from analysis.columns import params_of
from analysis.report.confirmed import MEASURED_IN
from analysis.report.figures import Figure
from analysis.report.marks import BASELINE, ON_FRONT, RECOMMENDED, Mark, marks_of
from analysis.report.sections.hover import hover
from analysis.report.sections.ranges import (
    are_hidden,
    limit_in,
    range_from_limit,
    shown_range,
    speed_axis,
)
from analysis.report.style import BLUE, MUTED, PAPER, axis, layout
from analysis.report.view import View, axis_title, tick_format
from analysis.rule import column_of
from analysis.rule_words import condition_text, tolerance_text
from analysis.statistics.pareto import pareto_front
from analysis.wording import counted, shown
from orchestrator.metrics import Goal, Objective, is_accuracy

__all__ = ["MANY", "limit_text", "num_hidden", "scatter", "scatter_figures", "shown_range"]

MANY: Final = 300
"""From here on points are drawn small and without intervals, or they hide each other."""

_BINS: Final = 80


def scatter_figures(view: View) -> list[Figure]:
    """Return a picture of the first objective against each other one that any config has."""
    return [_figure(view, other) for other in view.beside_speed if len(_drawn(view, other))]


def _figure(view: View, other: Objective) -> Figure:
    figure, hidden = scatter(view, other), num_hidden(view, other)
    axes = {"xaxis.range": figure.layout.xaxis.range, "yaxis.range": figure.layout.yaxis.range}
    name = "accuracy" if other == view.beside_speed[0] else other.metric
    less = "less accurate" if is_accuracy(other.metric) else "worse"
    return Figure(
        name=f"speed-{name}",
        figure=figure,
        table=_table(view, _drawn(view, other), other),
        caption=_caption(view, other),
        label=_label(view, other),
        shown={name: list(ends) for name, ends in axes.items() if ends and hidden},
        rest=f"Show {counted(hidden, f'{less} config')} too" if hidden else "",
    )


def scatter(view: View, other: Objective) -> go.Figure:
    """Draw every completed config by the first objective and ``other``, and the front."""
    first, column = view.rule.speed, column_of(other)
    rows, seen = _drawn(view, other), range_from_limit(view, other)
    figure = go.Figure(layout=layout(height=460, hovermode="closest"))
    figure.update_layout(legend={"traceorder": "reversed"})
    speed = speed_axis(rows, view.rule.speed_column, are_hidden(rows, column, seen))
    if view.num_configs > len(view.configs):
        figure.add_trace(_crowd(view, column, is_log=speed["type"] == "log"))
    if view.rule.directions == (first, other):
        figure.add_trace(_front_line(view, rows[rows["on_front"]], other))
    many = len(rows) > MANY
    for name, (mark, some) in marks_of(rows, view.rule).items():
        figure.add_trace(_points(view, some, other, name, mark, many=many))
    figure.update_xaxes(**axis(axis_title(first.metric), **speed))
    ticks = {"tickformat": tick_format(other.metric), "range": seen}
    figure.update_yaxes(**axis(axis_title(other.metric), **ticks))
    _add_limit(figure, limit_in(view, other))
    return figure


def _drawn(view: View, other: Objective) -> pd.DataFrame:
    return view.shown.dropna(subset=[view.rule.speed_column, column_of(other)])


def _points(
    view: View, rows: pd.DataFrame, other: Objective, name: str, mark: Mark, *, many: bool
) -> go.Scatter:
    words, template = hover(view, rows)
    is_small = many and mark not in (RECOMMENDED, BASELINE, ON_FRONT)
    x, y = view.rule.speed_column, column_of(other)
    return go.Scatter(
        x=rows[x].to_numpy(),
        y=rows[y].to_numpy(),
        error_x=_error_bars(rows, x, mark.colour, many=many),
        error_y=_error_bars(rows, y, mark.colour, many=many),
        mode="markers",
        name=name,
        marker={"color": mark.colour, "size": 4 if is_small else mark.size, "opacity": 1.0,
                "symbol": mark.symbol,
                "line": {"color": mark.colour if mark.is_open else PAPER,
                         "width": 1.5 if mark.is_open else 0 if is_small else 1}},
        customdata=words,
        hovertemplate=template,
    )  # fmt: skip


def _error_bars(rows: pd.DataFrame, column: str, colour: str, *, many: bool) -> dict[str, Any]:
    if f"{column}_high" not in rows.columns or many:
        return {"visible": False}
    return {
        "type": "data",
        "array": (rows[f"{column}_high"] - rows[column]).fillna(0).tolist(),
        "arrayminus": (rows[column] - rows[f"{column}_low"]).fillna(0).tolist(),
        "symmetric": False,
        "color": colour,
        "thickness": 1,
        "width": 2,
    }


def _crowd(view: View, column: str, *, is_log: bool) -> go.Heatmap:
    """Return the number of configs by speed and figure, of all of them, as a field of grey."""
    known = view.all_configs[[view.rule.speed_column, column]].dropna().to_numpy(np.float64)
    x, y = known[:, 0], known[:, 1]
    counts, x_edges, y_edges = np.histogram2d(np.log10(x) if is_log else x, y, bins=_BINS)
    return go.Heatmap(
        x=(10**x_edges if is_log else x_edges).tolist(),
        y=y_edges.tolist(),
        z=np.log10(np.where(counts > 0, counts, np.nan)).T.round(2).tolist(),
        colorscale=[[0, "rgba(125,137,150,0.10)"], [1, "rgba(125,137,150,0.65)"]],
        showscale=False,
        hoverinfo="skip",
    )


def _front_line(view: View, front: pd.DataFrame, other: Objective) -> go.Scatter:
    """Return the edge of what the front's configs dominate, by the figures that are shown."""
    speed = view.rule.speed_column
    edge = front[pareto_front(front, view.rule.directions)].sort_values(speed)
    return go.Scatter(
        x=edge[speed].tolist(),
        y=edge[column_of(other)].tolist(),
        mode="lines",
        # The edge of what the front's configs dominate, not a guess at what lies between.
        line={"color": BLUE, "width": 1.5,
              "shape": "vh" if view.rule.speed.goal is Goal.MAXIMIZE else "hv"},
        hoverinfo="skip",
        showlegend=False,
    )  # fmt: skip


def _add_limit(figure: go.Figure, limit: float | None) -> None:
    """Draw the line that a config must reach to be recommended."""
    if limit is None:
        return
    figure.add_shape(
        type="line", xref="paper", x0=0, x1=1, y0=limit, y1=limit, layer="below",
        line={"color": MUTED, "width": 1, "dash": "dot"},
    )  # fmt: skip


def _table(view: View, rows: pd.DataFrame, other: Objective) -> pd.DataFrame:
    """Return what is drawn, one row a config, with the ids of its trials."""
    marks = pd.Series("", index=rows.index, dtype="object")
    for name, (_, some) in marks_of(rows, view.rule).items():
        marks[some.index] = name
    figures = [
        f"{column_of(objective)}{end}"
        for objective in dict.fromkeys((*view.objectives, other))
        for end in ("", "_low", "_high")
    ]
    columns = [*params_of(rows), *figures, "verdict", "on_front", "num_runs", MEASURED_IN]
    table = rows[[column for column in columns if column in rows]]
    return table.assign(mark=marks, trial_ids=rows["trial_ids"].map(" ".join))


def num_hidden(view: View, other: Objective) -> int:
    """Return the number of configs that the figure does not show until it is zoomed out."""
    known = view.all_configs.dropna(subset=[view.rule.speed_column])
    return int(are_hidden(known, column_of(other), range_from_limit(view, other)).sum())


def _caption(view: View, other: Objective) -> str:
    rule, drawn = view.rule, len(_drawn(view, other))
    within = (
        "within the run alone, since nothing was repeated"
        if view.pool is None
        else "with the spread between fresh runs in them"
    )
    figure = "the speed" if rule.is_of_speed else rule.speed.metric
    confirmed = (view.shown[MEASURED_IN] == "confirm").any()
    bars = f"bars are 95 % intervals of {figure}, {within}"
    first = f"Each mark is a config; {bars}." if drawn <= MANY else "Each mark is a config."
    parts = [
        first,
        *_upright(view, other, drawn),
        "Confirmed configs are where their confirm runs put them." if confirmed else "",
        "Line: the edge of what the front's configs dominate."
        if rule.directions == (rule.speed, other)
        else "",
        limit_text(view, other),
        _covered_text(_drawn(view, other), [view.rule.speed_column, column_of(other)]),
        _thinned_text(view),
    ]
    return " ".join(part for part in parts if part)


def _covered_text(rows: pd.DataFrame, columns: list[str]) -> str:
    """Return how many configs lie exactly under another one; "" where none does."""
    covered = int(rows[columns].duplicated().sum())
    if not covered:
        return ""
    return f"{counted(covered, 'config')} with the same two figures as another: one mark."


def _thinned_text(view: View) -> str:
    if view.num_configs <= len(view.configs):
        return ""
    return (
        f"Grey field: all {view.num_configs:,} configs. Marks: {len(view.configs):,} of them: the "
        "front, the baseline, the recommended one, and of the others an even sample over the "
        "plane; trials.csv has all."
    )


def _upright(view: View, other: Objective, drawn: int) -> list[str]:
    """Return what the upright bars are, where the figure has any."""
    column = f"{column_of(other)}_low"
    if drawn > MANY or column not in view.shown or view.shown[column].isna().all():
        return []
    return [f"Upright bars are those of {other.metric}, with the spread between seeds in them."]


def _label(view: View, other: Objective) -> str:
    """Return the picture in a sentence, with the figures of the marked configs."""
    metrics = (view.rule.speed.metric, other.metric)
    marked = [
        f"{word}: {_figures(row, metrics)}"
        for word, mark in (("recommended", "is_recommended"), ("baseline", "is_baseline"))
        for row in view.shown[view.shown[mark]].head(1).to_dict("records")
    ]
    titles = " against ".join(map(axis_title, metrics))
    return "; ".join([f"{titles} of {counted(view.num_configs, 'config')}", *marked])


def _figures(row: Mapping[Any, Any], metrics: Sequence[str]) -> str:
    return ", ".join(shown(metric, row[f"metrics.{metric}"]) for metric in metrics)


def limit_text(view: View, other: Objective) -> str:
    """Return what the dotted line of the figure is, a sentence; "" where it has none."""
    if other not in view.rule.conditions:
        return ""
    if other.bound is not None:
        return f"Dotted: what the sweep asks for, {condition_text(other)}."
    best = "the best accuracy" if is_accuracy(other.metric) else f"the best {other.metric}"
    if other != view.rule.conditions[0]:
        best = f"{best} of the configs that hold the conditions before it"
    most = "the least" if other.goal is Goal.MAXIMIZE else "the most"
    return f"Dotted: {tolerance_text(other)} short of {best}, {most} that is recommended."
