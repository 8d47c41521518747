"""Effects of the knobs: every config by one knob, with the median at each value."""

from __future__ import annotations

from typing import Final

import pandas as pd
import plotly.graph_objects as go
from plotly.subplots import make_subplots

from analysis.columns import params_of
from analysis.report.sections.scatter import MANY, shown_range
from analysis.report.style import BLUE, FAINT, INK, axis, layout
from analysis.report.view import View, tick_format
from analysis.wording import short

MAX_VALUES: Final = 10
"""A knob with more values than this is shown as points on an axis, without medians."""


def knob_effects(view: View) -> dict[str, go.Figure]:
    """Draw a figure for each knob that has two values or more among the completed configs."""
    varied = [column for column in params_of(view.configs) if view.configs[column].nunique() > 1]
    return {column.removeprefix("params."): _effect(view, column) for column in varied}


def _effect(view: View, column: str) -> go.Figure:
    objectives = (view.rule.speed, *view.beside_speed)
    num_rows = len(objectives)
    figure = make_subplots(rows=num_rows, cols=1, shared_xaxes=True, vertical_spacing=0.07)
    height = 330 if num_rows == 2 else 55 + 140 * num_rows
    figure.update_layout(**layout(height=height, showlegend=False, hovermode="closest"))
    values = view.configs[column]
    is_scale = values.nunique() > MAX_VALUES and pd.api.types.is_numeric_dtype(values)
    for row, objective in enumerate(objectives, start=1):
        metric = objective.metric
        figures = view.configs[f"metrics.{metric}"]
        x = values.tolist() if is_scale else [short(value) for value in values.tolist()]
        figure.add_trace(_points(x, figures, view.configs["label"]), row=row, col=1)
        if not is_scale:
            figure.add_trace(_medians(values, figures), row=row, col=1)
        figure.update_yaxes(
            **axis(metric, tickformat=tick_format(metric), nticks=5), row=row, col=1
        )
        if row > 1:
            figure.update_yaxes(range=shown_range(view, objective), row=row, col=1)
    kind = {"type": _scale(values)} if is_scale else _categories(values)
    figure.update_xaxes(**axis("", **kind))
    figure.update_xaxes(title=axis(column.removeprefix("params."))["title"], row=num_rows, col=1)
    return figure


def _points(x: list[object], figures: pd.Series, labels: pd.Series) -> go.Scatter:
    return go.Scatter(
        x=x,
        y=figures.tolist(),
        mode="markers",
        marker={"color": FAINT, "size": 6 if len(labels) <= MANY else 3, "opacity": 0.8},
        text=labels.tolist() if len(labels) <= MANY else None,
        hovertemplate="%{text}<br>%{y}<extra></extra>" if len(labels) <= MANY else "%{y}",
    )


def _medians(values: pd.Series, figures: pd.Series) -> go.Scatter:
    medians = figures.groupby(values).median()
    counts = figures.groupby(values).count()
    return go.Scatter(
        x=[short(value) for value in medians.index.tolist()],
        y=medians.tolist(),
        mode="markers",
        marker={"color": BLUE, "size": 26, "symbol": "line-ew",
                "line": {"color": BLUE, "width": 3}},
        text=[f"median of {count} configs" for count in counts],
        hovertemplate="%{text}: %{y}<extra></extra>",
    )  # fmt: skip


def _categories(values: pd.Series) -> dict[str, object]:
    ordered = [short(value) for value in sorted(values.unique().tolist())]
    return {"type": "category", "categoryorder": "array", "categoryarray": ordered,
            "range": [-0.5, len(ordered) - 0.5], "tickfont": {"color": INK}}  # fmt: skip


def _scale(values: pd.Series) -> str:
    return "log" if values.min() > 0 and values.max() / values.min() > 20 else "linear"
