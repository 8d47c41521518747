"""The words of a picture of speed against another figure: its caption and its label."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Final

import pandas as pd

from orchestrator.analysis.report.view import View, axis_title
from orchestrator.analysis.rule import column_of
from orchestrator.analysis.rule_words import condition_text, tolerance_text
from orchestrator.analysis.wording import counted, shown
from orchestrator.metrics import Goal, Objective, is_accuracy

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
