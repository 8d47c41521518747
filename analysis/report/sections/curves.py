"""Learning curves: accuracy over the time that training took to get there."""

from __future__ import annotations

from typing import Final

import pandas as pd
import plotly.graph_objects as go

from analysis.columns import rows_of
from analysis.report.sections.scatter import shown_range
from analysis.report.style import AMBER, BLUE, FAINT, GREEN, axis, layout
from analysis.report.view import View, axis_title, tick_format
from orchestrator.trial import Stage

MAX_CURVES: Final = 300
"""Of the trials that nothing singles out, as many are drawn."""


def learning_curves(view: View) -> go.Figure | None:
    """Draw accuracy over elapsed time, a line a trial of stage ``train``; None without any."""
    metric = view.rule.accuracy.metric
    column = view.rule.accuracy_column
    if column not in view.curves.columns:
        return None
    train = view.trials[view.trials["stage"] == Stage.TRAIN]
    curves = view.curves[view.curves["trial_id"].isin(train["trial_id"])]
    curves = curves.dropna(subset=[column]).sort_values(["trial_id", "elapsed_s"])
    if curves.empty:
        return None
    figure = go.Figure(layout=layout(height=380, hovermode="closest"))
    for name, ids, colour, width in _groups(view, train):
        figure.add_trace(_lines(curves[curves["trial_id"].isin(ids)], column, name, colour, width))
    figure.update_xaxes(**axis("time since the trial began (s)", rangemode="tozero"))
    figure.update_yaxes(
        **axis(
            axis_title(metric),
            tickformat=tick_format(metric),
            range=shown_range(view, view.rule.accuracy),
        )
    )
    return figure


def _groups(view: View, train: pd.DataFrame) -> list[tuple[str, set[str], str, float]]:
    """Return the trials of each style, each once; the last are drawn on top."""
    recommended = _ids(train, view.recommendation.config) | _composed_ids(view, "is_recommended")
    baseline = _ids(train, dict(view.sweep.baseline)) | _composed_ids(view, "is_baseline")
    baseline -= recommended
    on_front = view.configs.loc[view.configs["on_front"], "trial_ids"]
    front = {trial for ids in on_front for trial in ids} - recommended - baseline
    others = [i for i in train["trial_id"] if i not in recommended | baseline | front]
    return [
        ("others", set(others[:MAX_CURVES]), FAINT, 1.0),
        ("on the front", front, BLUE, 1.8),
        ("baseline", baseline, AMBER, 2.4),
        ("recommended", recommended, GREEN, 2.8),
    ]


def _composed_ids(view: View, mark: str) -> set[str]:
    """Return the curves that the accuracy of a composed config is from."""
    rows = view.configs[view.configs[mark]] if view.num_candidates else view.configs.iloc[:0]
    return {trial for ids in rows.get("curve_ids", []) for trial in ids}


def _ids(train: pd.DataFrame, config: dict[str, object] | None) -> set[str]:
    return set() if config is None else set(train.loc[rows_of(train, config), "trial_id"])


def _lines(curves: pd.DataFrame, column: str, name: str, colour: str, width: float) -> go.Scatter:
    """Return the trials of a group as one trace, with a gap between two of them."""
    x: list[float | None] = []
    y: list[float | None] = []
    for _, curve in curves.groupby("trial_id", sort=False):
        x += [*curve["elapsed_s"].tolist(), None]
        y += [*curve[column].tolist(), None]
    return go.Scatter(
        x=x,
        y=y,
        mode="lines+markers",
        name=name,
        showlegend=bool(x),
        connectgaps=False,
        line={"color": colour, "width": width},
        marker={"size": 4},
        hovertemplate=f"{name}<br>%{{x:.1f}} s: %{{y}}<extra></extra>",
    )
