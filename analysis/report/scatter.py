"""Speed against accuracy: every config that completed, and the front."""

from __future__ import annotations

import html
from collections.abc import Mapping
from typing import Any, Final

import numpy as np
import pandas as pd
import plotly.graph_objects as go

from analysis.columns import text_of
from analysis.report.style import AMBER, BLUE, FAINT, GREEN, MUTED, VERDICTS, axis, layout
from analysis.report.view import View, axis_title, tick_format
from analysis.wording import runs_text, shown, verdict_text
from orchestrator.metrics import Goal

MANY: Final = 300
"""From here on points are drawn small and without intervals, or they hide each other."""

_IN_HOVER: Final = ("test_acc", "step_ms", "epoch_s", "peak_rss_gib")
_LOG_FROM_RATIO: Final = 20.0
_PADDING: Final = 0.06


def speed_accuracy(view: View) -> go.Figure:
    """Draw every completed config by the first two objectives, and the front through them."""
    first, second = view.objectives[:2]
    configs = view.configs.dropna(subset=[f"metrics.{first.metric}", f"metrics.{second.metric}"])
    figure = go.Figure(layout=layout(height=460, hovermode="closest"))
    if len(view.objectives) == 2:
        figure.add_trace(_front_line(view, configs[configs["on_front"]]))
    for verdict in reversed(VERDICTS):
        figure.add_trace(_of_verdict(view, configs[configs["verdict"] == verdict], verdict))
    for mask, name, colour, symbol in (
        ("is_baseline", "baseline", AMBER, "square-open"),
        ("is_recommended", "recommended", GREEN, "circle-open"),
    ):
        figure.add_trace(_rings(view, configs[configs[mask]], name, colour, symbol))
    for mask, name, colour in (
        ("is_baseline", "baseline, confirm runs", AMBER),
        ("is_recommended", "recommended, confirm runs", GREEN),
    ):
        rows = view.confirmed[view.confirmed[mask]]
        figure.add_trace(_points(view, rows, name, colour, 10, symbol="diamond"))
    figure.update_xaxes(**axis(axis_title(first.metric), **_speed_axis(view, configs)))
    ticks = {"tickformat": tick_format(second.metric), "range": accuracy_range(view)}
    figure.update_yaxes(**axis(axis_title(second.metric), **ticks))
    _add_limit(figure, view, configs)
    return figure


def _of_verdict(view: View, rows: pd.DataFrame, verdict: str) -> go.Scatter:
    """Return the configs of one verdict; those on the front larger and edged in its colour."""
    many = len(view.configs) > MANY
    trace = _points(view, rows, verdict or "not accurate enough", VERDICTS[verdict], 8)
    on_front = rows["on_front"].tolist()
    trace.marker.opacity = 1.0
    trace.marker.size = [10 if front else 4 if many else 8 for front in on_front]
    edge = FAINT if verdict == "" else "white"
    trace.marker.line.color = [BLUE if front else edge for front in on_front]
    trace.marker.line.width = [2 if front else 0 if many and verdict else 1 for front in on_front]
    trace.error_x.color = VERDICTS[verdict or "worse"]
    return trace


def _points(
    view: View, rows: pd.DataFrame, name: str, colour: str, size: int, symbol: str = "circle"
) -> go.Scatter:
    speed, accuracy = (f"metrics.{o.metric}" for o in view.objectives[:2])
    return go.Scatter(
        x=rows[speed].tolist(),
        y=rows[accuracy].tolist(),
        error_x=_error_bars(rows, speed, colour),
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


def _rings(view: View, rows: pd.DataFrame, name: str, colour: str, symbol: str) -> go.Scatter:
    speed, accuracy = (f"metrics.{o.metric}" for o in view.objectives[:2])
    return go.Scatter(
        x=rows[speed].tolist(),
        y=rows[accuracy].tolist(),
        mode="markers",
        name=name,
        showlegend=len(rows) > 0,
        marker={"color": colour, "size": 18, "symbol": symbol, "line": {"width": 2.5}},
        hoverinfo="skip",
    )


def _front_line(view: View, front: pd.DataFrame) -> go.Scatter:
    speed, accuracy = (f"metrics.{o.metric}" for o in view.objectives[:2])
    ordered = front.sort_values(speed)
    return go.Scatter(
        x=ordered[speed].tolist(),
        y=ordered[accuracy].tolist(),
        mode="lines",
        # The edge of what the front's configs dominate, not a guess at what lies between.
        line={"color": BLUE, "width": 1.5,
              "shape": "vh" if view.objectives[0].goal is Goal.MAXIMIZE else "hv"},
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
    runs = [f"runs: {runs_text(row)}, {row['interval']}"]
    lines = [f"<b>{html.escape(text)}</b>" for text in settings]
    return "<br>".join(
        lines + [html.escape(text) for text in figures + against_best + bound + runs]
    )


def _speed_axis(view: View, configs: pd.DataFrame) -> dict[str, Any]:
    """Return scale and range, by the configs in sight: others must not press them together."""
    column = f"metrics.{view.objectives[0].metric}"
    seen = configs[~_is_hidden(view, configs)]
    marked = view.confirmed[view.confirmed["is_baseline"] | view.confirmed["is_recommended"]]
    drawn = pd.concat([seen, marked[~_is_hidden(view, marked)]])
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


def accuracy_range(view: View) -> list[float] | None:
    """Return the accuracies to be shown: one diverged config must not flatten the rest."""
    rule = view.rule
    values = view.configs[rule.accuracy_column].dropna()
    if values.empty:
        return None
    sign, best = rule.accuracy.sign, rule.best_accuracy(values)
    behind = sign * (best - values)
    depth = max(20 * rule.tolerance, 2.5 * float(behind.median()))
    if behind.max() <= 1.2 * depth:
        return None
    ends = sorted([best - sign * depth, best + sign * 0.06 * depth])
    return [float(end) for end in ends]


def num_hidden(view: View) -> int:
    """Return the number of configs that the figure does not show until it is zoomed out."""
    return int(_is_hidden(view, view.configs).sum())


def _is_hidden(view: View, configs: pd.DataFrame) -> pd.Series:
    """Return the configs outside :func:`accuracy_range`."""
    values = configs[view.rule.accuracy_column]
    low, high = accuracy_range(view) or (-np.inf, np.inf)
    return (values < low) | (values > high)


def _add_limit(figure: go.Figure, view: View, configs: pd.DataFrame) -> None:
    """Draw the line that a config must reach to be recommended."""
    rule = view.rule
    if configs.empty:
        return
    limit = rule.least_accuracy(configs[rule.accuracy_column])
    figure.add_shape(
        type="line", xref="paper", x0=0, x1=1, y0=limit, y1=limit, layer="below",
        line={"color": MUTED, "width": 1, "dash": "dot"},
    )  # fmt: skip
