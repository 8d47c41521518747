"""The words of a picture of speed against another figure: caption, label, each config's text."""

from __future__ import annotations

import html
from collections.abc import Hashable, Mapping, Sequence
from typing import Any, Final

import numpy as np
import numpy.typing as npt
import pandas as pd

from orchestrator.analysis.columns import by_value, config_of, text_of
from orchestrator.analysis.composition.compose import COMPOSED
from orchestrator.analysis.recommendation.front import MEASURED_IN, rests_on
from orchestrator.analysis.report.view import View, axis_title
from orchestrator.analysis.rule import column_of
from orchestrator.analysis.rule_words import condition_text, learned_word, tolerance_text
from orchestrator.analysis.wording import runs_text, short, shown, telling_knobs, verdict_text
from orchestrator.formats import counted
from orchestrator.metric_table import Place, names_shown
from orchestrator.metrics import Goal, Objective, is_accuracy
from orchestrator.trial import Stage


def telling(view: View) -> list[str]:
    """Return the knobs that tell the drawn configs apart, or from the baseline."""
    configs = view.shown
    names = [name for name in view.sweep.knobs if f"params.{name}" in configs]
    vary = {name for name in names if configs[f"params.{name}"].nunique() > 1}
    first = [config_of(row, view.sweep) for row in configs.head(1).to_dict("records")]
    told = telling_knobs(first, view.sweep)
    return [name for name in names if name in vary or name in told]


def hover(view: View, rows: pd.DataFrame) -> tuple[npt.NDArray[np.str_], str]:
    """Return plotly's ``customdata`` of the rows, and the ``hovertemplate`` that shows it.

    Every word is safe to show as HTML.
    """
    knobs = [name for name in telling(view) if f"params.{name}" in rows]
    metrics = [
        metric
        for metric in dict.fromkeys(
            [*(o.metric for o in view.objectives), *names_shown(Place.HOVER)]
        )
        if f"metrics.{metric}" in rows and rows[f"metrics.{metric}"].notna().any()
    ]
    lines = [f"<b>{html.escape(name)}=%{{customdata[{n}]}}</b>" for n, name in enumerate(knobs)]
    lines += [
        f"{html.escape(metric)}: %{{customdata[{n}]}}"
        for n, metric in enumerate(metrics, start=len(knobs))
    ]
    lines += [f"%{{customdata[{len(knobs) + len(metrics)}]}}"]
    learned = learned_word(view.rule)
    parts = [
        *(
            by_value(rows[f"params.{name}"], lambda value: html.escape(short(value)))
            for name in knobs
        ),
        *([shown(m, value) for value in rows[f"metrics.{m}"]] for m in metrics),
        ["<br>".join(map(html.escape, _grounds(row, learned))) for row in _records(rows)],
    ]
    # Of one width, for plotly copies it cell by cell otherwise.
    words = np.array(list(zip(*parts, strict=True)), dtype=np.str_)
    return words, "<br>".join(lines) + "<extra></extra>"


def _records(rows: pd.DataFrame) -> list[dict[Hashable, Any]]:
    """Return the rows with what :func:`_grounds` asks for alone."""
    left_out = ("params.", "metrics.", "trial_ids", "timed_ids")
    return rows[[c for c in rows.columns if not c.startswith(left_out)]].to_dict("records")


def _grounds(row: Mapping[Any, Any], learned: str) -> list[str]:
    """Return what the figures of a config rest on, and how it stands against the best."""
    against_best = [text] if (text := verdict_text(row)) else []
    bound = [f"bound by: {tag}"] if (tag := text_of(row.get("tags.bound"))) else []
    if row[MEASURED_IN] == Stage.CONFIRM:
        rest = f"; {learned} composed" if row.get(COMPOSED, False) else ""
        runs = f"confirm runs: {row['num_runs']}, {row['interval']}{rest}"
    elif row.get(COMPOSED, False):
        runs = f"composed: {rests_on(row, learned)}, {row['interval']}"
    else:
        runs = f"runs: {runs_text(row, learned)}, {row['interval']}"
    return [*against_best, *bound, runs]


MANY: Final = 300
"""From here on points are drawn small and without intervals, or they hide each other."""


def drawn(view: View, other: Objective) -> pd.DataFrame:
    """Return the configs that a picture has a mark for, by the runs that selected."""
    return _with_both(view, view.by_selecting_runs, other)


def drawn_as_confirmed(view: View, other: Objective) -> pd.DataFrame:
    """Return those that have an open mark as well, by their confirm runs."""
    return _with_both(view, view.by_confirm_runs, other)


def _with_both(view: View, configs: pd.DataFrame, other: Objective) -> pd.DataFrame:
    return configs.dropna(subset=[view.rule.speed_column, column_of(other)])


def caption_of(view: View, other: Objective) -> str:
    """Return the sentences below a picture: what its marks, bars and lines are."""
    rule, rows = view.rule, drawn(view, other)
    within = (
        "within the run alone, since nothing was repeated"
        if view.pool is None
        else "with the spread between fresh runs in them"
    )
    figure = "the speed" if rule.is_of_speed else rule.speed.metric
    bars = f"bars are 95 % intervals of {figure}, {within}"
    first = f"Each mark is a config; {bars}." if len(rows) <= MANY else "Each mark is a config."
    parts = [
        first,
        *_upright(view, other, len(rows)),
        "Open marks: confirmed configs by their confirm runs, which selected none."
        if len(drawn_as_confirmed(view, other))
        else "",
        "Line: the edge of what the front's configs dominate."
        if rule.directions == (rule.speed, other)
        else "",
        limit_text(view, other),
        _covered_text(rows, [view.rule.speed_column, column_of(other)]),
        _thinned_text(view),
    ]
    return " ".join(part for part in parts if part)


def _covered_text(rows: pd.DataFrame, columns: list[str]) -> str:
    """Return how many configs lie exactly under another one; "" where none does."""
    covered = int(rows[columns].duplicated().sum())
    if not covered:
        return ""
    return f"{counted(covered, 'config')} with the same two figures as another: one mark."


def _thinned_text(view: View) -> str:
    if view.num_configs <= len(view.configs):
        return ""
    return (
        f"Grey field: all {view.num_configs:,} configs. Marks: {len(view.configs):,} of them: the "
        "front, the baseline, the recommended one, and of the others an even sample over the "
        "plane; trials.csv has all."
    )


def _upright(view: View, other: Objective, number: int) -> list[str]:
    """Return what the upright bars are, where the figure has any."""
    column = f"{column_of(other)}_low"
    if number > MANY or column not in view.shown or view.shown[column].isna().all():
        return []
    return [f"Upright bars are those of {other.metric}, with the spread between seeds in them."]


def label_of(view: View, other: Objective) -> str:
    """Return the picture in a sentence, with the figures of the marked configs."""
    metrics = (view.rule.speed.metric, other.metric)
    marked = [
        f"{word}: {_figures(row, metrics)}"
        for word, mark in (("recommended", "is_recommended"), ("baseline", "is_baseline"))
        for row in view.shown[view.shown[mark]].head(1).to_dict("records")
    ]
    titles = " against ".join(map(axis_title, metrics))
    return "; ".join([f"{titles} of {counted(view.num_configs, 'config')}", *marked])


def _figures(row: Mapping[Any, Any], metrics: Sequence[str]) -> str:
    return ", ".join(shown(metric, row[f"metrics.{metric}"]) for metric in metrics)


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
