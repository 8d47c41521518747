"""Lines: accuracy over time and over samples."""

import html
import math
from typing import Final

import numpy as np
import numpy.typing as npt
import pandas as pd

from orchestrator.analysis.columns import configs_of, curve_ids_of
from orchestrator.analysis.report.drawing import Colour, Figure, axis, metric_axis
from orchestrator.analysis.report.tables import Section
from orchestrator.analysis.report.view import View
from orchestrator.analysis.statistics.curves import CLOCK, WHOLE_CLOCK
from orchestrator.analysis.wording import format_config
from orchestrator.metrics import is_accuracy
from orchestrator.trial import Stage

MAX_LINES: Final = 20
"""Most lines of a kind that are drawn."""
MAX_POINTS: Final = 500
"""Points of a line: more show nothing more, and make the page large."""
SAMPLES: Final = "samples"

STYLES: Final = {
    "other trials": (Colour.FAINT, 1.0, "solid"),
    "on the front": (Colour.BLUE, 1.6, "solid"),
    "baseline": (Colour.AMBER, 2.4, "dash"),
    "recommended": (Colour.GREEN, 2.8, "solid"),
}
"""Colour, width and dash of each kind of line, by its word; the last is drawn on top."""


def curves_of(view: View) -> Section:
    """Return the section on the learning curves of stage ``train``.

    The time axis is the time in training epochs if all trials report it, so that frequent
    evaluation makes no config look slow; else it is the time since the trial's process began.
    """
    metric, column = view.rule.accuracy.metric, view.rule.accuracy_column
    word = "accuracy" if is_accuracy(metric) else metric
    title = f"{word} over time and over samples"
    train = view.trials[view.trials["stage"] == Stage.TRAIN].set_index("trial_id", drop=False)
    reports = view.tables.whole_curves
    if column in reports.columns:
        reports = reports[reports[column].notna() & reports["trial_id"].isin(train.index)]
        of_trial = reports.groupby("trial_id", sort=False)[column]
        reports = reports[of_trial.transform("size") > 1]
    if reports.empty or column not in reports.columns:
        missing = f"no trial reported {metric} twice while it trained, so that there is no curve"
        return Section("curves", title, missing=missing)
    last = reports.groupby("trial_id", sort=False)[column].last()
    kinds = _kinds(view, last.index)
    kept: list[str] = []
    for kind in STYLES:
        trials = last[kinds == kind].sort_values(kind="stable").index
        kept += trials[_evenly(len(trials), MAX_LINES)].tolist()
    configs = configs_of(train.loc[kept], view.sweep)
    labels = dict(zip(kept, (format_config(c, view.sweep) for c in configs), strict=True))
    reports = reports[reports["trial_id"].isin(kept)]
    clock = CLOCK if CLOCK in reports and reports[CLOCK].notna().all() else WHOLE_CLOCK
    reports = reports.assign(
        clock_s=reports[clock],
        kind=reports["trial_id"].map(kinds),
        config=reports["trial_id"].map(labels),
    ).sort_values(["trial_id", "clock_s"], kind="stable")
    line = f"{len(kept)} of {len(last):,} trials are drawn, evenly by their last figure"
    figures = [
        _figure(view, reports.dropna(subset=[over]), over, clock == CLOCK, f"{word}-over-{name}")
        for over, name in (("clock_s", "time"), (SAMPLES, "samples"))
        if reports[over].notna().any()
    ]
    lines = (line,) if len(kept) < len(last) else ()
    return Section("curves", title, lines=lines, figures=tuple(figures))


def _kinds(view: View, trials: "pd.Index[str]") -> "pd.Series[str]":
    """Return the word of each trial's line; the curves of a composed config have its word."""
    configs, kinds = view.all_configs, pd.Series("other trials", index=trials)
    marks = {"on_front": "on the front", "is_baseline": "baseline", "is_recommended": "recommended"}
    for mark, word in marks.items():
        kinds[trials.isin(curve_ids_of(configs[configs[mark]]).explode())] = word
    return kinds


def _evenly(number: int, most: int) -> npt.NDArray[np.intp]:
    """Return at most so many of ``number`` places, evenly spaced, with both ends."""
    return np.linspace(0, number - 1, min(number, most)).round().astype(np.intp)


def _figure(view: View, reports: pd.DataFrame, over: str, is_trained: bool, name: str) -> Figure:
    """Draw the curves over ``clock_s`` or :data:`SAMPLES`."""
    metric, column, is_timed = view.rule.accuracy.metric, view.rule.accuracy_column, over != SAMPLES
    limit = view.rule.limits(view.all_configs).get(metric, math.nan)
    caption = "A line a trial of the searching stage. "
    if is_timed:
        evaluated = "is not" if is_trained else "is"
        caption += f"Learning and speed together; evaluation {evaluated} counted."
    else:
        caption += "Learning alone: knobs that change only the speed move no line here."
    table = reports[["trial_id", "kind", "config", over, column]]
    caption += " Dotted: what the rule asks for." * math.isfinite(limit)
    figure = Figure(name, table, caption, height=380, hovermode="closest")
    where = "%{x:.1f} s" if is_timed else "%{x:,} samples"
    for kind, (colour, width, dash) in STYLES.items():
        lines = reports[reports["kind"] == kind].groupby("trial_id", sort=False)
        for number, (_, whole) in enumerate(lines):
            line = whole.iloc[_evenly(len(whole), MAX_POINTS)]
            config = html.escape(line["config"].iloc[0])
            figure.add(
                "scatter",
                x=line[over],
                y=line[column],
                mode="lines+markers" if len(line) <= MAX_LINES else "lines",
                name=kind,
                legendgroup=kind,
                showlegend=number == 0,
                marker={"size": 4},
                line={"color": colour, "width": width, "dash": dash},
                hovertemplate=f"{config}<br>%{{y}} after {where}<extra>{kind}</extra>",
            )
    title = "training time (s)" if is_trained else "time since the trial began (s)"
    title = title if is_timed else "samples trained on"
    figure.axes(axis(title, rangemode="tozero"), metric_axis(metric))
    if math.isfinite(limit):
        figure.line(limit)
    return figure
