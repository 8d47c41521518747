"""Learning curves: accuracy over the time and over the samples that training took to get there."""

from __future__ import annotations

import html
import math
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Final

import numpy as np
import numpy.typing as npt
import pandas as pd

from orchestrator.analysis.columns import configs_of, rows_of
from orchestrator.analysis.report.drawing import AMBER, BLUE, FAINT, GREEN, Drawing, Figure, axis
from orchestrator.analysis.report.tables import Section
from orchestrator.analysis.report.view import View, axis_title, tick_format
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
    "other trials": (FAINT, 1.0, "solid"),
    "on the front": (BLUE, 1.6, "solid"),
    "baseline": (AMBER, 2.4, "dash"),
    "recommended": (GREEN, 2.8, "solid"),
}
"""Colour, width and dash of each kind of line, by its word; the last is drawn on top."""


def curves_of(view: View) -> Section:
    """Return the section on learning curves: those of the trials of stage ``train``.

    The time axis is the time in training epochs if all trials report it, so that frequent
    evaluation makes no config look slow; else it is the time since the trial's process began.
    """
    metric, column = view.rule.accuracy.metric, view.rule.accuracy_column
    word = "accuracy" if is_accuracy(metric) else metric
    title = f"{word} over time and over samples"
    train = view.trials[view.trials["stage"] == Stage.TRAIN].set_index("trial_id", drop=False)
    reports = view.curves
    if column in reports.columns:
        reports = reports[reports[column].notna() & reports["trial_id"].isin(train.index)]
        of_trial = reports.groupby("trial_id", sort=False)[column]
        reports = reports[of_trial.transform("size") > 1]
    if reports.empty or column not in reports.columns:
        missing = f"no trial reported {metric} twice while it trained, so that there is no curve"
        return Section("curves", title, missing=missing)
    last = reports.groupby("trial_id", sort=False)[column].last()
    kinds = pd.Series(_kinds(view, train), index=train.index)[last.index]
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
    is_cut = len(kept) < len(last)
    line = f"{len(kept)} of {len(last):,} trials are drawn, evenly by their last figure"
    figures = [
        _figure(view, reports.dropna(subset=[over]), over, clock == CLOCK, f"{word}-over-{name}")
        for over, name in (("clock_s", "time"), (SAMPLES, "samples"))
        if reports[over].notna().any()
    ]
    lines = (line,) if is_cut else ()
    return Section("curves", title, lines=lines, figures=tuple(figures))


def _kinds(view: View, train: pd.DataFrame) -> npt.NDArray[np.str_]:
    """Return the word of each trial's line; the curves of a composed config have its word."""
    configs = view.all_configs

    def among(ids: Iterable[Sequence[str]]) -> pd.Series[bool]:
        return train["trial_id"].isin([trial for some in ids for trial in some])

    def of(config: Mapping[str, Any] | None, mark: str) -> pd.Series[bool]:
        is_own = among([]) if config is None else rows_of(train, config)
        if view.num_candidates and "curve_ids" in configs.columns:
            is_own = is_own | among(configs.loc[configs[mark], "curve_ids"])
        return is_own

    tests = [
        of(view.findings.config, "is_recommended"),
        of(view.sweep.baseline, "is_baseline"),
        among(configs.loc[configs["on_front"], "trial_ids"]),
    ]
    words = list(STYLES)
    return np.select([test.to_numpy(np.bool_) for test in tests], words[:0:-1], words[0])


def _evenly(number: int, most: int) -> npt.NDArray[np.intp]:
    """Return at most so many of ``number`` places, evenly spaced, with both ends."""
    return np.linspace(0, number - 1, min(number, most)).round().astype(np.intp)


def _figure(view: View, reports: pd.DataFrame, over: str, is_trained: bool, name: str) -> Figure:
    """Draw the curves over ``clock_s`` or :data:`SAMPLES`."""
    metric, column, is_timed = view.rule.accuracy.metric, view.rule.accuracy_column, over != SAMPLES
    figure = Drawing(height=380, hovermode="closest")
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
    figure.axes(
        axis(title if is_timed else "samples trained on", rangemode="tozero"),
        axis(axis_title(metric), tickformat=tick_format(metric)),
    )
    limit = view.rule.limits(view.all_configs).get(metric, math.nan)
    what = "Learning alone: knobs that change only the speed move no line here."
    if is_timed:
        evaluated = "is not" if is_trained else "is"
        what = f"Learning and speed together; evaluation {evaluated} counted."
    if has_limit := math.isfinite(limit):
        figure.line(limit)
    return Figure(
        name=name.replace("_", "-"),
        drawing=figure,
        table=reports[["trial_id", "kind", "config", over, column]],
        caption=f"A line a trial of the searching stage. {what}"
        + " Dotted: what the rule asks for." * has_limit,
    )
