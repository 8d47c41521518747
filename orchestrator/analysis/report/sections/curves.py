"""Learning curves: accuracy over the time and over the samples that training took to get there."""

from __future__ import annotations

import html
import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any, Final

import numpy as np
import numpy.typing as npt
import pandas as pd

from orchestrator.analysis.columns import configs_of, params_of, rows_of
from orchestrator.analysis.report.figures import Drawing, Figure
from orchestrator.analysis.report.sections.section import Section
from orchestrator.analysis.report.style import AMBER, BLUE, FAINT, GREEN, MUTED, axis
from orchestrator.analysis.report.view import View, axis_title, tick_format
from orchestrator.analysis.statistics.curves import CLOCK, WHOLE_CLOCK
from orchestrator.analysis.wording import format_config
from orchestrator.metrics import is_accuracy
from orchestrator.trial import Stage

MAX_OTHERS: Final = 20
"""Of the trials that nothing singles out as many are drawn; of those on the front, too."""
SAMPLES: Final = "samples"


KINDS: Final = ("other trials", "on the front", "baseline", "recommended")
"""Kinds of lines; the last is drawn on top."""

Places = npt.NDArray[np.intp]
Mask = npt.NDArray[np.bool_]


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


def drawn_curves(view: View) -> Curves | None:
    """Return the curves of stage ``train`` that are drawn; None where none has two reports.

    A report is drawn by the time in training epochs where all trials report it, so that evaluating
    often makes no config look slow; else by the time since the trial's process began.
    """
    column = view.rule.accuracy_column
    if column not in view.curves.columns:
        return None
    train = view.trials[view.trials["stage"] == Stage.TRAIN].reset_index(drop=True)
    # The place of each report's trial in the table: of very many trials texts are slow to compare.
    places = pd.Index(train["trial_id"]).get_indexer(pd.Index(view.curves["trial_id"]))
    figures = view.curves[column].to_numpy(dtype=np.float64)
    is_known = (places >= 0) & np.isfinite(figures)
    is_curve = np.bincount(places[is_known], minlength=len(train)) > 1
    if not is_curve.any():
        return None
    last = np.full(len(train), np.nan)
    last[places[is_known]] = figures[is_known]
    kinds = np.where(is_curve, _kinds(view, train), "")
    kept = np.zeros(len(train), dtype=np.bool_)
    for kind in KINDS:
        kept[_some(np.flatnonzero(kinds == kind), last)] = True
    is_drawn = is_known & kept[places]
    reports, places = view.curves[is_drawn], places[is_drawn]
    clock = CLOCK if CLOCK in reports and reports[CLOCK].notna().all() else WHOLE_CLOCK
    labels = _labels(view, train[kept])
    reports = reports.assign(
        clock_s=reports[clock],
        kind=kinds[places],
        config=[labels[place] for place in places],
    ).sort_values(["trial_id", "clock_s"], kind="stable")
    columns = ["trial_id", "kind", "config", "clock_s", SAMPLES, column]
    return Curves(
        reports=reports[columns].reset_index(drop=True),
        column=column,
        clock=clock,
        num_trials={kind: int((kinds == kind).sum()) for kind in KINDS if (kinds == kind).any()},
    )


def _kinds(view: View, train: pd.DataFrame) -> npt.NDArray[np.str_]:
    """Return the word of each trial's line."""
    front = view.all_configs[view.all_configs["on_front"]]
    tests = [
        _of_config(train, view.findings.config) | _of_curves(view, train, "is_recommended"),
        _of_config(train, view.sweep.baseline) | _of_curves(view, train, "is_baseline"),
        _among(train, front["trial_ids"]),
    ]
    return np.select(tests, KINDS[:0:-1], KINDS[0])


def _some(places: Places, last: npt.NDArray[np.float64]) -> Places:
    """Return all trials of a kind, or :data:`MAX_OTHERS` of them, evenly by their last figure."""
    if len(places) <= MAX_OTHERS:
        return places
    ordered = places[np.argsort(last[places], kind="stable")]
    chosen: Places = ordered[np.linspace(0, len(ordered) - 1, MAX_OTHERS).round().astype(np.intp)]
    return chosen


def _labels(view: View, train: pd.DataFrame) -> dict[Any, str]:
    configs = configs_of(train[params_of(train)], view.sweep)
    labels = [format_config(config, view.sweep) for config in configs]
    return dict(zip(train.index, labels, strict=True))


def _of_curves(view: View, train: pd.DataFrame, mark: str) -> Mask:
    """Return True for the curves that the accuracy of a composed config is from."""
    if not view.num_candidates or "curve_ids" not in view.all_configs.columns:
        return np.zeros(len(train), dtype=np.bool_)
    return _among(train, view.all_configs.loc[view.all_configs[mark], "curve_ids"])


def _of_config(train: pd.DataFrame, config: Mapping[str, Any] | None) -> Mask:
    if config is None:
        return np.zeros(len(train), dtype=np.bool_)
    return rows_of(train, config).to_numpy(dtype=np.bool_)


def _among(train: pd.DataFrame, ids: Iterable[Sequence[str]]) -> Mask:
    """Return True for the trials that some configs have."""
    wanted = [trial for some in ids for trial in some]
    places = pd.Index(train["trial_id"]).get_indexer(pd.Index(wanted, dtype="str"))
    among = np.zeros(len(train), dtype=np.bool_)
    among[places[places >= 0]] = True
    return among


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
    figure = Drawing(height=380, hovermode="closest")
    for kind, (colour, width, dash) in _STYLES.items():
        lines = reports[reports["kind"] == kind].groupby("trial_id", sort=False)
        for number, (_, line) in enumerate(lines):
            drawn = _line(_thinned(line), over, curves.column, kind, is_first=number == 0)
            style = {"color": colour, "width": width, "dash": dash}
            figure.add("scatter", **drawn, line=style)
    figure.axes(
        axis(_x_title(curves, over), rangemode="tozero"),
        axis(axis_title(metric), tickformat=tick_format(metric)),
    )
    limit = view.rule.limits(view.all_configs).get(metric, math.nan)
    if math.isfinite(limit):
        figure.line(limit, color=MUTED, width=1, dash="dot")
    shown = _shown(view, reports, curves.column, limit)
    return Figure(
        name=name,
        drawing=figure,
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


def _line(
    line: pd.DataFrame, over: str, column: str, kind: str, *, is_first: bool
) -> dict[str, Any]:
    where = "%{x:,} samples" if over == SAMPLES else "%{x:.1f} s"
    return {
        "x": line[over].tolist(),
        "y": line[column].tolist(),
        "mode": "lines+markers" if len(line) <= MAX_OTHERS else "lines",
        "name": kind,
        "legendgroup": kind,
        "showlegend": is_first,
        "marker": {"size": 4},
        "hovertemplate": f"{html.escape(line['config'].iloc[0])}<br>%{{y}} after {where}"
        f"<extra>{kind}</extra>",
    }


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
