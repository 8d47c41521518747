"""The first objective against another one: every config that completed, and the front."""

from __future__ import annotations

import html
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

import numpy as np
import numpy.typing as npt
import pandas as pd

from orchestrator.analysis.columns import by_value, params_of, text_of, varying_params_of
from orchestrator.analysis.composition.compose import COMPOSED
from orchestrator.analysis.recommendation.front import rests_on
from orchestrator.analysis.report.drawing import (
    AMBER,
    BLUE,
    FAINT,
    GREEN,
    MUTED,
    PAPER,
    Drawing,
    Figure,
    axis,
    bars,
)
from orchestrator.analysis.report.view import View, axis_title, tick_format
from orchestrator.analysis.rule import Rule, best_of, column_of, limit_of
from orchestrator.analysis.rule_words import condition_text, lacking, learned_word
from orchestrator.analysis.statistics.pareto import pareto_front
from orchestrator.analysis.wording import (
    less_good,
    runs_text,
    short,
    shown,
    verdict_text,
)
from orchestrator.formats import counted
from orchestrator.metric_table import Place, names_shown
from orchestrator.metrics import Goal, Objective

MANY: Final = 300
"""With this many points they are drawn small and without intervals, or they hide each other."""

_LOG_FROM: Final = 20.0
"""Largest ratio of speeds on a linear axis; above it the axis is logarithmic."""
_PADDING: Final = 0.06
"""Margin around the visible range, as a share of it."""

Range = list[float]


@dataclass(frozen=True, kw_only=True)
class Mark:
    """One kind of mark: its word in the legend, colour, plotly's shape, size."""

    name: str
    colour: str
    symbol: str
    size: int


MARKS: Final = (
    Mark(name="recommended", colour=GREEN, symbol="star", size=17),
    Mark(name="baseline", colour=AMBER, symbol="square", size=12),
    Mark(name="on the front", colour=BLUE, symbol="diamond", size=11),
    Mark(name="other configs", colour=MUTED, symbol="circle", size=7),
)
"""Marks, the most informative first."""


def marks_of(configs: pd.DataFrame, rule: Rule) -> Iterator[tuple[Mark, pd.DataFrame]]:
    """Yield the configs of each mark that any has; marks to be drawn on top come last.

    Args:
        configs: With ``is_recommended``, ``is_baseline``, ``on_front`` and ``verdict``.
        rule: The rule; the open marks do not meet its conditions.
    """
    short_of = Mark(name=lacking(rule), colour=FAINT, symbol="circle-open", size=7)
    tests = (
        configs["is_recommended"],
        configs["is_baseline"],
        configs["on_front"],
        configs["verdict"] != "",
    )
    kinds = np.select([test.to_numpy(bool) for test in tests], range(len(MARKS)), len(MARKS))
    for kind, mark in reversed(list(enumerate((*MARKS, short_of)))):
        if (kinds == kind).any():
            yield mark, configs[kinds == kind]


def scatter_figures(view: View) -> list[Figure]:
    """Return a picture of the first objective against each other objective that any config has."""
    return [_figure(view, other) for other in view.beside_speed if len(_drawn(view, other))]


def _figure(view: View, other: Objective) -> Figure:
    seen = range_in_sight(view, other)
    known = view.all_configs.dropna(subset=[view.rule.speed_column])
    hidden = int(_are_hidden(known, other, seen).sum())
    name = "accuracy" if other == view.beside_speed[0] else other.metric
    return Figure(
        name=f"speed-{name}",
        drawing=_scatter(view, other, seen),
        table=_table(view, other),
        caption=_caption(view, other),
        label=_label(view, other),
        shown={"yaxis.range": seen} if seen else {},
        rest=f"Show {counted(hidden, f'{less_good(other.metric)} config')} too" if hidden else "",
    )


def _scatter(view: View, other: Objective, seen: Range | None) -> Drawing:
    first, rows = view.rule.speed, _drawn(view, other)
    figure = Drawing(height=460, hovermode="closest", legend={"traceorder": "reversed"})
    if view.rule.directions == (first, other):
        figure.add("scatter", **_front_line(view, rows[rows["on_front"]], other))
    for mark, some in marks_of(rows, view.rule):
        figure.add("scatter", **_points(view, some, other, mark, many=len(rows) > MANY))
    speeds = rows.loc[~_are_hidden(rows, other, seen), view.rule.speed_column]
    is_log = len(speeds) > 1 and speeds.min() > 0 and speeds.max() > _LOG_FROM * speeds.min()
    ticks = {"tickformat": tick_format(other.metric), "range": seen}
    figure.axes(
        axis(axis_title(first.metric), type="log" if is_log else "linear"),
        axis(axis_title(other.metric), **{k: v for k, v in ticks.items() if v}),
    )
    limit = _limit(view, other)
    if limit is not None:
        figure.line(limit)
    return figure


def _drawn(view: View, other: Objective) -> pd.DataFrame:
    """Return the configs that have a mark, with the figures of the runs that selected."""
    return view.configs.dropna(subset=[view.rule.speed_column, column_of(other)])


def _limit(view: View, other: Objective) -> float | None:
    """Return the worst figure that is recommended; None if the figure is no condition."""
    limits = view.rule.limits(view.all_configs) if len(view.all_configs) else {}
    limit = limits.get(other.metric)
    return None if limit is None or pd.isna(limit) else float(limit)


def range_in_sight(view: View, other: Objective) -> Range | None:
    """Return the visible range of figures, with the limit as its edge; None for all of them.

    The limit of a figure that is no condition lies far behind the best: one diverged config must
    not flatten the rest. Baseline and recommended config are always visible.
    """
    drawn, sign = _drawn(view, other), other.sign
    figures = drawn[column_of(other)]
    values, best, limit = sign * figures, best_of(other, figures), _limit(view, other)
    if limit is None:
        behind = 2.5 * float((sign * best - values).median())
        limit = best - sign * max(20 * abs(best - limit_of(other, figures)), behind)
    marked = values[drawn["is_baseline"] | drawn["is_recommended"]]
    low, high = min([sign * limit, *marked]), float(values.max())
    depth = (high - low) or abs(high) * _PADDING or 1.0
    low, high = low - 2 * _PADDING * depth, high + _PADDING * depth
    return sorted([sign * low, sign * high]) if values.min() < low else None


def _are_hidden(configs: pd.DataFrame, other: Objective, seen: Range | None) -> pd.Series[bool]:
    """Return True for the configs with a figure outside a range."""
    values = configs[column_of(other)]
    low, high = seen or (-np.inf, np.inf)
    return (values < low) | (values > high)


def _points(
    view: View, rows: pd.DataFrame, other: Objective, mark: Mark, *, many: bool
) -> dict[str, Any]:
    words, template = hover(view, rows)
    is_small = many and mark.size == MARKS[-1].size
    is_open = mark.symbol.endswith("-open")
    error_bars = {
        f"error_{end}": bars(rows, (column, f"{column}_low", f"{column}_high"), mark.colour)
        for end, column in (("x", view.rule.speed_column), ("y", column_of(other)))
        if f"{column}_high" in rows.columns and not many
    }
    return {
        "x": rows[view.rule.speed_column].to_numpy(),
        "y": rows[column_of(other)].to_numpy(),
        **error_bars,
        "mode": "markers",
        "name": mark.name,
        "marker": {"color": mark.colour, "size": 4 if is_small else mark.size, "opacity": 1.0,
                   "symbol": mark.symbol,
                   "line": {"color": mark.colour if is_open else PAPER,
                            "width": 1.5 if is_open else 0 if is_small else 1}},
        "customdata": words,
        "hovertemplate": template,
    }  # fmt: skip


def _front_line(view: View, front: pd.DataFrame, other: Objective) -> dict[str, Any]:
    """Return the edge of the region that the front dominates, without interpolation."""
    speed = view.rule.speed_column
    edge = front[pareto_front(front, view.rule.directions)].sort_values(speed)
    shape = "vh" if view.rule.speed.goal is Goal.MAXIMIZE else "hv"
    return {
        "x": edge[speed].tolist(),
        "y": edge[column_of(other)].tolist(),
        "mode": "lines",
        "line": {"color": BLUE, "width": 1.5, "shape": shape},
        "hoverinfo": "skip",
        "showlegend": False,
    }


def hover(view: View, rows: pd.DataFrame) -> tuple[npt.NDArray[np.str_], str]:
    """Return plotly's ``customdata`` of the rows, and the ``hovertemplate`` that shows it.

    Every word is safe to show as HTML.
    """
    columns = varying_params_of(view.configs)
    metrics = [
        metric
        for metric in dict.fromkeys(
            [*(o.metric for o in view.objectives), *names_shown(Place.HOVER)]
        )
        if f"metrics.{metric}" in rows and rows[f"metrics.{metric}"].notna().any()
    ]
    heads = [f"{html.escape(column.removeprefix('params.'))}=" for column in columns]
    heads += [f"{html.escape(metric)}: " for metric in metrics] + [""]
    template = "<br>".join(f"{head}%{{customdata[{n}]}}" for n, head in enumerate(heads))
    learned = learned_word(view.rule)
    parts = [
        *(by_value(rows[column], lambda value: html.escape(short(value))) for column in columns),
        *([shown(m, value) for value in rows[f"metrics.{m}"]] for m in metrics),
        [_grounds(row, learned) for row in rows.to_dict("records")],
    ]
    # All of one width, since plotly otherwise copies it cell by cell.
    words = np.array(list(zip(*parts, strict=True)), dtype=np.str_)
    return words, f"{template}<extra></extra>"


def _grounds(row: Mapping[Any, Any], learned: str) -> str:
    """Return the evidence for a config's figures, and its verdict against the best."""
    runs = f"runs: {runs_text(row, learned)}"
    if row.get(COMPOSED, False):
        runs = f"composed: {rests_on(row, learned)}"
    bound = text_of(row.get("tags.bound"))
    lines = [verdict_text(row), f"bound by: {bound}" * bool(bound), f"{runs}, {row['interval']}"]
    return "<br>".join(html.escape(line) for line in lines if line)


def _caption(view: View, other: Objective) -> str:
    """Return the sentences below a picture: the meaning of its marks, bars and lines."""
    rule, rows = view.rule, _drawn(view, other)
    within = "within the run alone, since nothing was repeated"
    if view.tables.pool is not None:
        within = "with the spread between fresh runs in them"
    parts = [
        "Each mark is a config, by the runs that selected.",
        f"Bars are 95 % intervals, {within}." if len(rows) <= MANY else "",
        "Line: the edge of what the front's configs dominate."
        if rule.directions == (rule.speed, other)
        else "",
        f"Dotted: what the rule asks for, {condition_text(other)}."
        if other in rule.conditions
        else "",
        f"Marks: {len(view.configs):,} of {view.num_configs:,} configs: the front, the baseline, "
        "the recommended one, and a random sample of the others; trials.csv has all."
        if view.num_configs > len(view.configs)
        else "",
    ]
    return " ".join(part for part in parts if part)


def _label(view: View, other: Objective) -> str:
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


def _table(view: View, other: Objective) -> pd.DataFrame:
    """Return the drawn data, one row a mark, with the ids of its trials."""
    rows = _drawn(view, other)
    marks = pd.Series("", index=rows.index, dtype="object")
    for mark, of_mark in marks_of(rows, view.rule):
        marks[of_mark.index] = mark.name
    figures = [
        f"{column_of(objective)}{end}"
        for objective in dict.fromkeys((*view.objectives, other))
        for end in ("", "_low", "_high")
    ]
    columns = [*params_of(rows), *figures, "verdict", "on_front", "num_runs"]
    table = rows[[column for column in columns if column in rows]]
    return table.assign(mark=marks, trial_ids=rows["trial_ids"].map(" ".join))
