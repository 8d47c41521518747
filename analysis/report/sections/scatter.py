"""The first objective against another one: every config that completed, and the front."""

from __future__ import annotations

import html
from collections.abc import Mapping
from typing import Any, Final

import numpy as np
import pandas as pd
import plotly.graph_objects as go

from analysis.columns import text_of
from analysis.composition.compose import COMPOSED
from analysis.recommendation.composed import rests_on
from analysis.report.style import AMBER, BLUE, FAINT, GREEN, MUTED, VERDICTS, axis, layout
from analysis.report.view import View, axis_title, tick_format
from analysis.rule import best_of, column_of, limit_of
from analysis.rule_words import condition_text, lacking, tolerance_text
from analysis.wording import runs_text, shown, verdict_text
from orchestrator.metrics import Goal, Objective, is_accuracy

MANY: Final = 300
"""From here on points are drawn small and without intervals, or they hide each other."""

_IN_HOVER: Final = ("test_acc", "step_ms", "epoch_s", "peak_rss_gib")
_LOG_FROM_RATIO: Final = 20.0
_PADDING: Final = 0.06


def scatter(view: View, other: Objective) -> go.Figure:
    """Draw every completed config by the first objective and ``other``, and the front."""
    first = view.rule.speed
    configs = view.configs.dropna(subset=[column_of(first), column_of(other)])
    figure = go.Figure(layout=layout(height=460, hovermode="closest"))
    if view.rule.directions == (first, other):
        figure.add_trace(_front_line(view, configs[configs["on_front"]], other))
    for verdict in reversed(VERDICTS):
        figure.add_trace(_of_verdict(view, configs[configs["verdict"] == verdict], other, verdict))
    for mask, name, colour, symbol in (
        ("is_baseline", "baseline", AMBER, "square-open"),
        ("is_recommended", "recommended", GREEN, "circle-open"),
    ):
        figure.add_trace(_rings(view, configs[configs[mask]], other, name, colour, symbol))
    for mask, name, colour in (
        ("is_baseline", "baseline, confirm runs", AMBER),
        ("is_recommended", "recommended, confirm runs", GREEN),
    ):
        rows = view.confirmed[view.confirmed[mask]]
        if column_of(other) in rows.columns:
            figure.add_trace(_points(view, rows, other, name, colour, 10, symbol="diamond"))
    figure.update_xaxes(**axis(axis_title(first.metric), **_speed_axis(view, configs, other)))
    ticks = {"tickformat": tick_format(other.metric), "range": shown_range(view, other)}
    figure.update_yaxes(**axis(axis_title(other.metric), **ticks))
    _add_limit(figure, view, configs, other)
    return figure


def _of_verdict(view: View, rows: pd.DataFrame, other: Objective, verdict: str) -> go.Scatter:
    """Return the configs of one verdict; those on the front larger and edged in its colour."""
    many = len(view.configs) > MANY
    trace = _points(view, rows, other, verdict or lacking(view.rule), VERDICTS[verdict], 8)
    on_front = rows["on_front"].tolist()
    trace.marker.opacity = 1.0
    trace.marker.size = [10 if front else 4 if many else 8 for front in on_front]
    edge = FAINT if verdict == "" else "white"
    trace.marker.line.color = [BLUE if front else edge for front in on_front]
    trace.marker.line.width = [2 if front else 0 if many and verdict else 1 for front in on_front]
    trace.error_x.color = trace.error_y.color = VERDICTS[verdict or "worse"]
    return trace


def _points(
    view: View,
    rows: pd.DataFrame,
    other: Objective,
    name: str,
    colour: str,
    size: int,
    symbol: str = "circle",
) -> go.Scatter:
    speed = view.rule.speed_column
    return go.Scatter(
        x=rows[speed].tolist(),
        y=rows[column_of(other)].tolist(),
        error_x=_error_bars(rows, speed, colour),
        error_y=_error_bars(rows, column_of(other), colour),
        mode="markers",
        name=name,
        showlegend=len(rows) > 0,
        marker={"color": colour, "size": size, "symbol": symbol,
                "line": {"color": "white", "width": 1}},
        text=[hover_text(view, row) for row in rows.to_dict("records")],
        hoverinfo="text",
    )  # fmt: skip


def _error_bars(rows: pd.DataFrame, column: str, colour: str) -> dict[str, Any]:
    if f"{column}_high" not in rows.columns or len(rows) > MANY:
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


def _rings(
    view: View, rows: pd.DataFrame, other: Objective, name: str, colour: str, symbol: str
) -> go.Scatter:
    return go.Scatter(
        x=rows[view.rule.speed_column].tolist(),
        y=rows[column_of(other)].tolist(),
        mode="markers",
        name=name,
        showlegend=len(rows) > 0,
        marker={"color": colour, "size": 18, "symbol": symbol, "line": {"width": 2.5}},
        hoverinfo="skip",
    )


def _front_line(view: View, front: pd.DataFrame, other: Objective) -> go.Scatter:
    speed = view.rule.speed_column
    ordered = front.sort_values(speed)
    return go.Scatter(
        x=ordered[speed].tolist(),
        y=ordered[column_of(other)].tolist(),
        mode="lines",
        # The edge of what the front's configs dominate, not a guess at what lies between.
        line={"color": BLUE, "width": 1.5,
              "shape": "vh" if view.rule.speed.goal is Goal.MAXIMIZE else "hv"},
        hoverinfo="skip",
        showlegend=False,
    )  # fmt: skip


def hover_text(view: View, row: Mapping[Any, Any]) -> str:
    """Return a config's settings and figures, a line each, safe to show as HTML."""
    settings = row["label"].split(" ")
    metrics = [*(o.metric for o in view.objectives), *_IN_HOVER]
    figures = [
        f"{metric}: {shown(metric, row[f'metrics.{metric}'])}"
        for metric in dict.fromkeys(metrics)
        if not pd.isna(row.get(f"metrics.{metric}"))
    ]
    against_best = [text] if (text := verdict_text(row)) else []
    bound = [f"bound by: {tag}"] if (tag := text_of(row.get("tags.bound"))) else []
    of = rests_on(row) if row.get(COMPOSED, False) else f"runs: {runs_text(row)}"
    runs = [f"{'composed: ' if row.get(COMPOSED, False) else ''}{of}, {row['interval']}"]
    lines = [f"<b>{html.escape(text)}</b>" for text in settings]
    return "<br>".join(
        lines + [html.escape(text) for text in figures + against_best + bound + runs]
    )


def _speed_axis(view: View, configs: pd.DataFrame, other: Objective) -> dict[str, Any]:
    """Return scale and range, by the configs in sight: others must not press them together."""
    column = view.rule.speed_column
    seen = configs[~_is_hidden(view, configs, other)]
    marked = view.confirmed[view.confirmed["is_baseline"] | view.confirmed["is_recommended"]]
    drawn = pd.concat([seen, marked[~_is_hidden(view, marked, other)]])
    ends_of_bars = [drawn.get(f"{column}_{end}", drawn[column]) for end in ("low", "high")]
    values = pd.concat([drawn[column], *ends_of_bars]).dropna()
    spread = len(values) > 1 and values.min() > 0 and values.max() / values.min() > _LOG_FROM_RATIO
    scale = "log" if spread else "linear"
    if len(seen) == len(configs) or values.empty:
        return {"type": scale}
    low, high = float(values.min()), float(values.max())
    ends = np.log10([low, high]) if spread else np.array([low, high])
    pad = _PADDING * float(ends[1] - ends[0] or abs(ends[1]) or 1.0)
    return {"type": scale, "range": [float(ends[0]) - pad, float(ends[1]) + pad]}


def shown_range(view: View, other: Objective) -> list[float] | None:
    """Return the figures to be shown: one diverged config must not flatten the rest."""
    values = view.configs[column_of(other)].dropna()
    if values.empty:
        return None
    sign, best = other.sign, best_of(other, values)
    behind = sign * (best - values)
    depth = max(20 * abs(best - limit_of(other, values)), 2.5 * float(behind.median()))
    if behind.max() <= 1.2 * depth:
        return None
    ends = sorted([best - sign * depth, best + sign * 0.06 * depth])
    return [float(end) for end in ends]


def num_hidden(view: View, other: Objective) -> int:
    """Return the number of configs that the figure does not show until it is zoomed out."""
    return int(_is_hidden(view, view.configs, other).sum())


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


def _is_hidden(view: View, configs: pd.DataFrame, other: Objective) -> pd.Series:
    """Return the configs outside :func:`shown_range`."""
    values = configs.get(column_of(other), pd.Series(np.nan, index=configs.index))
    low, high = shown_range(view, other) or (-np.inf, np.inf)
    return (values < low) | (values > high)


def _add_limit(figure: go.Figure, view: View, configs: pd.DataFrame, other: Objective) -> None:
    """Draw the line that a config must reach to be recommended."""
    limit = view.rule.limits(configs).get(other.metric) if len(configs) else None
    if limit is None or pd.isna(limit):
        return
    figure.add_shape(
        type="line", xref="paper", x0=0, x1=1, y0=limit, y1=limit, layer="below",
        line={"color": MUTED, "width": 1, "dash": "dot"},
    )  # fmt: skip
