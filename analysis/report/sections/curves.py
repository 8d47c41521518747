"""Learning curves: accuracy over the time and over the samples that training took to get there."""

from __future__ import annotations

import html
import math
from collections.abc import Hashable
from dataclasses import dataclass
from functools import partial
from typing import Any, Final

import numpy as np
import pandas as pd
import plotly.graph_objects as go

from analysis.columns import configs_of, params_of, rows_of
from analysis.report.figures import Figure
from analysis.report.sections.section import Section
from analysis.report.style import AMBER, BLUE, FAINT, GREEN, MUTED, axis, layout
from analysis.report.view import View, axis_title, tick_format
from analysis.statistics.time_to_accuracy import CLOCK, WHOLE_CLOCK
from analysis.wording import format_config
from orchestrator.metrics import is_accuracy
from orchestrator.trial import Stage

MAX_OTHERS: Final = 20
"""Of the trials that nothing singles out as many are drawn; of those on the front, too."""
SAMPLES: Final = "samples"

_STYLES: Final = {
    "other trials": (FAINT, 1.0, "solid"),
    "on the front": (BLUE, 1.6, "solid"),
    "baseline": (AMBER, 2.4, "dash"),
    "recommended": (GREEN, 2.8, "solid"),
}
"""Colour, width and dash of each kind of line, by its word; the last is drawn on top."""


@dataclass(frozen=True, kw_only=True)
class Curves:
    """The reports that are drawn.

    Attributes:
        reports: One row a report with an accuracy: ``trial_id``, ``kind``, ``config``, ``clock_s``,
            ``samples`` and the accuracy, by trial and time.
        column: The accuracy's column.
        clock: The column that ``clock_s`` is read from.
        num_trials: Trials of each kind that there are, by its word.
    """

    reports: pd.DataFrame
    column: str
    clock: str
    num_trials: dict[str, int]


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
        if (figure := curve_figure(view, curves, over, f"{word}-over-{name}")) is not None
    )
    return section(lines=tuple(_lines(curves)), figures=figures)


def drawn_curves(view: View) -> Curves | None:
    """Return the curves of stage ``train`` that are drawn; None where none has two reports.

    A report is drawn by the time in training epochs where all trials report it, so that evaluating
    often makes no config look slow; else by the time since the trial's process began.
    """
    column = view.rule.accuracy_column
    train = view.trials[view.trials["stage"] == Stage.TRAIN]
    reports = view.curves[view.curves["trial_id"].isin(train["trial_id"])]
    if column not in reports.columns:
        return None
    reports = reports.dropna(subset=[column])
    points = reports["trial_id"].value_counts()
    reports = reports[reports["trial_id"].map(points) > 1]
    if reports.empty:
        return None
    clock = CLOCK if CLOCK in reports and reports[CLOCK].notna().all() else WHOLE_CLOCK
    kinds = _kinds(view, train[train["trial_id"].isin(reports["trial_id"])])
    last = reports.groupby("trial_id", sort=False)[column].last()
    kept = {trial for kind in _STYLES for trial in _some(kinds[kinds == kind], last)}
    reports = reports[reports["trial_id"].isin(kept)].assign(clock_s=reports[clock])
    labels = _labels(view, train[train["trial_id"].isin(kept)])
    reports = reports.assign(
        kind=reports["trial_id"].map(kinds), config=reports["trial_id"].map(labels)
    ).sort_values(["trial_id", "clock_s"], kind="stable")
    columns = ["trial_id", "kind", "config", "clock_s", SAMPLES, column]
    return Curves(
        reports=reports[columns].reset_index(drop=True),
        column=column,
        clock=clock,
        num_trials={str(kind): int(count) for kind, count in kinds.value_counts().items()},
    )


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
            figure.add_trace(_line(line, over, curves.column, kind, is_first=number == 0))
            figure.data[-1].line = {"color": colour, "width": width, "dash": dash}
    figure.update_xaxes(**axis(_x_title(curves, over), rangemode="tozero"))
    figure.update_yaxes(**axis(axis_title(metric), tickformat=tick_format(metric)))
    limit = view.rule.limits(view.all_configs).get(metric, math.nan)
    if math.isfinite(limit):
        figure.add_hline(limit, line={"color": MUTED, "width": 1, "dash": "dot"}, layer="below")
    shown = _shown(view, reports[curves.column], limit)
    return Figure(
        name=name,
        figure=figure,
        table=reports[["trial_id", "kind", "config", over, curves.column]],
        caption=_caption(curves, over, limit),
        label=f"{axis_title(metric)} over {_x_title(curves, over)}, a line a trial.",
        shown={"yaxis.range": shown} if shown else {},
        rest="Show the whole curves" if shown else "",
    )


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


def _kinds(view: View, train: pd.DataFrame) -> pd.Series[str]:
    """Return the word of each trial's line, by its id."""
    recommended = _ids(train, view.recommendation.config) | _composed_ids(view, "is_recommended")
    baseline = _ids(train, dict(view.sweep.baseline)) | _composed_ids(view, "is_baseline")
    on_front = view.all_configs.loc[view.all_configs["on_front"], "trial_ids"]
    front = {trial for ids in on_front for trial in ids}
    ids = train["trial_id"]
    tests = [ids.isin(some) for some in (recommended, baseline, front)]
    words = np.select(tests, list(_STYLES)[:0:-1], next(iter(_STYLES)))
    return pd.Series(words, index=ids.to_numpy())


def _some(kinds: pd.Series[str], last: pd.Series[float]) -> list[Hashable]:
    """Return all trials of a kind, or :data:`MAX_OTHERS` of them, evenly by their last figure."""
    if len(kinds) <= MAX_OTHERS:
        return kinds.index.tolist()
    ordered = last[kinds.index].sort_values(kind="stable").index
    return ordered[np.linspace(0, len(ordered) - 1, MAX_OTHERS).round().astype(int)].tolist()


def _labels(view: View, train: pd.DataFrame) -> dict[str, str]:
    configs = configs_of(train[["trial_id", *params_of(train)]], view.sweep)
    labels = [format_config(config, view.sweep) for config in configs]
    return dict(zip(train["trial_id"], labels, strict=True))


def _composed_ids(view: View, mark: str) -> set[str]:
    """Return the curves that the accuracy of a composed config is from."""
    if not view.num_candidates:
        return set()
    rows = view.all_configs[view.all_configs[mark]]
    return {trial for ids in rows.get("curve_ids", []) for trial in ids}


def _ids(train: pd.DataFrame, config: dict[str, object] | None) -> set[str]:
    return set() if config is None else set(train.loc[rows_of(train, config), "trial_id"])


def _shown(view: View, figures: pd.Series[Any], limit: float) -> list[float] | None:
    """Return the range shown at first: what lies near the accuracy that the rule asks for."""
    sign = view.rule.accuracy.sign
    best, worst = sign * (sign * figures).max(), sign * (sign * figures).min()
    depth = max(8 * abs(best - limit), 0.25 * abs(best - worst)) if math.isfinite(limit) else 0.0
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
