"""Learning curves: accuracy over the time and over the samples that training took to get there."""

from __future__ import annotations

import html
import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

import numpy as np
import numpy.typing as npt
import pandas as pd

from orchestrator.analysis.columns import configs_of, rows_of
from orchestrator.analysis.report.drawing import (
    AMBER,
    BLUE,
    FAINT,
    GREEN,
    Drawing,
    Figure,
    axis,
)
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

Mask = npt.NDArray[np.bool_]


@dataclass(frozen=True, kw_only=True)
class Curves:
    """The reports that are drawn.

    Attributes:
        reports: One row a report with an accuracy: ``trial_id``, ``kind``, ``config``, ``clock_s``,
            ``samples`` and the accuracy, by trial and time.
        column: The accuracy's column.
        clock: The column that ``clock_s`` is read from.
        num_trials: Number of trials of each kind, by its word.
    """

    reports: pd.DataFrame
    column: str
    clock: str
    num_trials: dict[str, int]


def drawn_curves(view: View) -> Curves | None:
    """Return the curves of stage ``train`` that are drawn; None if none has two reports.

    The time axis is the time in training epochs if all trials report it, so that frequent
    evaluation makes no config look slow; else it is the time since the trial's process began.
    """
    column = view.rule.accuracy_column
    if column not in view.curves.columns:
        return None
    train = view.trials[view.trials["stage"] == Stage.TRAIN].set_index("trial_id", drop=False)
    reports = view.curves.dropna(subset=[column])
    of_trial = reports.groupby("trial_id", sort=False)[column]
    last = of_trial.last()[of_trial.size() > 1]
    last = last[last.index.isin(train.index)]
    if last.empty:
        return None
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
    columns = ["trial_id", "kind", "config", "clock_s", SAMPLES, column]
    numbers = kinds.value_counts()
    return Curves(
        reports=reports[columns].reset_index(drop=True),
        column=column,
        clock=clock,
        num_trials={kind: int(numbers[kind]) for kind in STYLES if kind in numbers},
    )


def _kinds(view: View, train: pd.DataFrame) -> npt.NDArray[np.str_]:
    """Return the word of each trial's line; the curves of a composed config have its word."""
    configs = view.all_configs

    def of(config: Mapping[str, Any] | None, mark: str) -> Mask:
        is_own = np.zeros(len(train), dtype=np.bool_)
        if config is not None:
            is_own = rows_of(train, config).to_numpy(dtype=np.bool_)
        if view.num_candidates and "curve_ids" in configs.columns:
            is_own = is_own | _among(train, configs.loc[configs[mark], "curve_ids"])
        return is_own

    tests = [
        of(view.findings.config, "is_recommended"),
        of(view.sweep.baseline, "is_baseline"),
        _among(train, configs.loc[configs["on_front"], "trial_ids"]),
    ]
    words = list(STYLES)
    return np.select(tests, words[:0:-1], words[0])


def _among(train: pd.DataFrame, ids: Iterable[Sequence[str]]) -> Mask:
    """Return True for the trials that some configs have."""
    return train["trial_id"].isin([trial for some in ids for trial in some]).to_numpy(np.bool_)


def _evenly(number: int, most: int) -> npt.NDArray[np.intp]:
    """Return at most so many of ``number`` places, evenly spaced, with both ends."""
    return np.linspace(0, number - 1, min(number, most)).round().astype(np.intp)


def curves_of(view: View) -> Section:
    """Return the section on learning curves."""
    metric = view.rule.accuracy.metric
    word = "accuracy" if is_accuracy(metric) else metric
    title = f"{word} over time and over samples"
    curves = drawn_curves(view)
    if curves is None:
        return Section(name="curves", title=title, missing=_why_none(view))
    names = {"clock_s": "time", SAMPLES: "samples"}
    drawn = curves.reports.drop_duplicates("trial_id")["kind"].value_counts()
    lines = [
        f"{drawn[kind]} of {number:,} trials are drawn ({kind}), evenly by their last figure"
        for kind, number in curves.num_trials.items()
        if drawn[kind] < number
    ]
    return Section(
        name="curves",
        title=title,
        lines=tuple(lines),
        figures=tuple(
            _figure(view, curves, over, f"{word.replace('_', '-')}-over-{name}")
            for over, name in names.items()
            if curves.reports[over].notna().any()
        ),
    )


def _figure(view: View, curves: Curves, over: str, name: str) -> Figure:
    """Draw the curves over ``clock_s`` or :data:`SAMPLES`."""
    reports, column = curves.reports.dropna(subset=[over]), curves.column
    metric, is_timed = view.rule.accuracy.metric, over != SAMPLES
    figure = Drawing(height=380, hovermode="closest")
    where = "%{x:.1f} s" if is_timed else "%{x:,} samples"
    for kind, (colour, width, dash) in STYLES.items():
        lines = reports[reports["kind"] == kind].groupby("trial_id", sort=False)
        for number, (_, whole) in enumerate(lines):
            line = whole.iloc[_evenly(len(whole), MAX_POINTS)]
            config = html.escape(line["config"].iloc[0])
            figure.add(
                "scatter",
                x=line[over].tolist(),
                y=line[column].tolist(),
                mode="lines+markers" if len(line) <= MAX_LINES else "lines",
                name=kind,
                legendgroup=kind,
                showlegend=number == 0,
                marker={"size": 4},
                line={"color": colour, "width": width, "dash": dash},
                hovertemplate=f"{config}<br>%{{y}} after {where}<extra>{kind}</extra>",
            )
    is_trained = curves.clock == CLOCK
    title = "training time (s)" if is_trained else "time since the trial began (s)"
    title = title if is_timed else "samples trained on"
    figure.axes(
        axis(title, rangemode="tozero"),
        axis(axis_title(metric), tickformat=tick_format(metric)),
    )
    limit = view.rule.limits(view.all_configs).get(metric, math.nan)
    has_limit = math.isfinite(limit)
    if has_limit:
        figure.line(limit)
    what = "Learning alone: knobs that change only the speed move no line here."
    if is_timed:
        evaluated = "is not" if is_trained else "is"
        what = f"Learning and speed together; evaluation {evaluated} counted."
    return Figure(
        name=name,
        drawing=figure,
        table=reports[["trial_id", "kind", "config", over, column]],
        caption=f"A line a trial of the searching stage. {what}"
        + " Dotted: what the rule asks for." * has_limit,
        label=f"{axis_title(metric)} over {title}, a line a trial.",
    )


def _why_none(view: View) -> str:
    metric = view.rule.accuracy.metric
    if view.rule.accuracy_column not in view.curves.columns:
        return f"no trial reported {metric} while it trained, so that there is no curve"
    every = "; --set eval_every=1 would draw one" if "eval_every" in view.sweep.knobs else ""
    return f"{metric} was evaluated once a trial, so that there is no curve{every}"
