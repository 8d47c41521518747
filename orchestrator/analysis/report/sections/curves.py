"""Learning curves: accuracy over the time and over the samples that training took to get there."""

from __future__ import annotations

import html
import math
from functools import partial
from typing import Final

import numpy as np
import pandas as pd
import plotly.graph_objects as go

from orchestrator.analysis.report.figures import Figure
from orchestrator.analysis.report.sections.chosen_curves import (
    KINDS,
    MAX_OTHERS,
    SAMPLES,
    Curves,
    drawn_curves,
)
from orchestrator.analysis.report.sections.section import Section
from orchestrator.analysis.report.style import AMBER, BLUE, FAINT, GREEN, MUTED, axis, layout
from orchestrator.analysis.report.view import View, axis_title, tick_format
from orchestrator.analysis.statistics.time_to_accuracy import CLOCK
from orchestrator.metrics import is_accuracy

_STYLES: Final = {
    "other trials": (FAINT, 1.0, "solid"),
    "on the front": (BLUE, 1.6, "solid"),
    "baseline": (AMBER, 2.4, "dash"),
    "recommended": (GREEN, 2.8, "solid"),
}
"""Colour, width and dash of each kind of line, by its word; the last is drawn on top."""
MAX_POINTS: Final = 500
"""Points of a line: more show nothing more, and make the page large."""


def curves_of(view: View) -> Section:
    """Return the section on learning curves."""
    metric = view.rule.accuracy.metric
    word = "accuracy" if is_accuracy(metric) else metric
    section = partial(Section, name="curves", title=f"{word} over time and over samples")
    curves = drawn_curves(view)
    if curves is None:
        return section(missing=_why_none(view))
    figures = tuple(
        figure
        for over, name in (("clock_s", "time"), (SAMPLES, "samples"))
        if (figure := curve_figure(view, curves, over, f"{word.replace('_', '-')}-over-{name}"))
    )
    return section(lines=tuple(_lines(curves)), figures=figures)


def curve_figure(view: View, curves: Curves, over: str, name: str) -> Figure | None:
    """Draw the curves over ``clock_s`` or :data:`SAMPLES`; None where these are not known."""
    reports = curves.reports.dropna(subset=[over])
    if reports.empty:
        return None
    metric = view.rule.accuracy.metric
    figure = go.Figure(layout=layout(height=380, hovermode="closest"))
    for kind, (colour, width, dash) in _STYLES.items():
        lines = reports[reports["kind"] == kind].groupby("trial_id", sort=False)
        for number, (_, line) in enumerate(lines):
            drawn = _thinned(line)
            figure.add_trace(_line(drawn, over, curves.column, kind, is_first=number == 0))
            figure.data[-1].line = {"color": colour, "width": width, "dash": dash}
    figure.update_xaxes(**axis(_x_title(curves, over), rangemode="tozero"))
    figure.update_yaxes(**axis(axis_title(metric), tickformat=tick_format(metric)))
    limit = view.rule.limits(view.all_configs).get(metric, math.nan)
    if math.isfinite(limit):
        figure.add_hline(limit, line={"color": MUTED, "width": 1, "dash": "dot"}, layer="below")
    shown = _shown(view, reports, curves.column, limit)
    return Figure(
        name=name,
        figure=figure,
        table=reports[["trial_id", "kind", "config", over, curves.column]],
        caption=_caption(curves, over, limit),
        label=f"{axis_title(metric)} over {_x_title(curves, over)}, a line a trial.",
        shown={"yaxis.range": shown} if shown else {},
        rest="Show the whole curves" if shown else "",
    )


def _thinned(line: pd.DataFrame) -> pd.DataFrame:
    """Return at most :data:`MAX_POINTS` reports of a line, evenly, both ends among them."""
    if len(line) <= MAX_POINTS:
        return line
    return line.iloc[np.linspace(0, len(line) - 1, MAX_POINTS).round().astype(int)]


def _line(line: pd.DataFrame, over: str, column: str, kind: str, *, is_first: bool) -> go.Scatter:
    where = "%{x:,} samples" if over == SAMPLES else "%{x:.1f} s"
    return go.Scatter(
        x=line[over].tolist(),
        y=line[column].tolist(),
        mode="lines+markers" if len(line) <= MAX_OTHERS else "lines",
        name=kind,
        legendgroup=kind,
        showlegend=is_first,
        marker={"size": 4},
        hovertemplate=f"{html.escape(line['config'].iloc[0])}<br>%{{y}} after {where}"
        f"<extra>{kind}</extra>",
    )


def _x_title(curves: Curves, over: str) -> str:
    if over == SAMPLES:
        return "samples trained on"
    return "training time (s)" if curves.clock == CLOCK else "time since the trial began (s)"


def _shown(view: View, reports: pd.DataFrame, column: str, limit: float) -> list[float] | None:
    """Return the range shown at first: what lies near the accuracy that the rule asks for.

    The ends of all lines but those of other trials are in it.
    """
    sign, figures = view.rule.accuracy.sign, reports[column]
    best, worst = sign * (sign * figures).max(), sign * (sign * figures).min()
    ends = reports[reports["kind"] != KINDS[0]].groupby("trial_id")[column].last()
    depth = max(8 * abs(best - limit), 0.25 * abs(best - worst)) if math.isfinite(limit) else 0.0
    depth = max(depth, 1.1 * float((sign * (best - ends)).max())) if len(ends) else depth
    if not 0 < depth < 0.7 * abs(best - worst):
        return None
    return [float(end) for end in sorted([best - sign * depth, best + sign * 0.05 * depth])]


def _caption(curves: Curves, over: str, limit: float) -> str:
    with_evaluation = "is not" if curves.clock == CLOCK else "is"
    what = (
        "Learning alone: knobs that change only the speed move no line here."
        if over == SAMPLES
        else f"Learning and speed together; evaluation {with_evaluation} counted."
    )
    dotted = " Dotted: what the rule asks for." if math.isfinite(limit) else ""
    return f"A line a trial of the searching stage. {what}{dotted}"


def _lines(curves: Curves) -> list[str]:
    """Return what is left out, where something is."""
    drawn = curves.reports.drop_duplicates("trial_id")["kind"].value_counts()
    return [
        f"of the {number:,} {_trials(kind)} {drawn[kind]} are drawn, evenly by their last figure"
        for kind, number in curves.num_trials.items()
        if drawn[kind] < number
    ]


def _trials(kind: str) -> str:
    words = {"other trials": kind, "on the front": f"trials {kind}"}
    return words.get(kind, f"trials of the {kind} config")


def _why_none(view: View) -> str:
    if view.all_configs.empty:
        return "no config completed, so that there is no curve"
    metric = view.rule.accuracy.metric
    if view.rule.accuracy_column not in view.curves.columns:
        return f"no trial reported {metric} while it trained, so that there is no curve"
    every = "; --set eval_every=1 would draw one" if "eval_every" in view.sweep.knobs else ""
    return f"{metric} was evaluated once a trial, so that there is no curve{every}"
