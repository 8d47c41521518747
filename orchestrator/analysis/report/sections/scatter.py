"""The first objective against another one: every config that completed, and the front."""

import html
from collections.abc import Iterator
from typing import Final, NamedTuple

import numpy as np
import pandas as pd

from orchestrator.analysis import wording
from orchestrator.analysis.columns import metrics_of, params_of, text_of, varying_params_of
from orchestrator.analysis.recommendation import front
from orchestrator.analysis.report.drawing import Colour, Figure, bars, metric_axis
from orchestrator.analysis.report.tables import measured
from orchestrator.analysis.report.view import View
from orchestrator.analysis.rule import best_of, column_of, limit_of
from orchestrator.analysis.statistics.pareto import pareto_front
from orchestrator.formats import counted
from orchestrator.metric_table import Place, names_shown
from orchestrator.metrics import Goal, Objective, is_accuracy
from orchestrator.trial import LOAD

MANY: Final = 300
"""With this many points they are drawn small and without intervals, or they hide each other."""

_LOG_FROM: Final = 20.0
"""Largest ratio of speeds on a linear axis; above it the axis is logarithmic."""
_PADDING: Final = 0.06
"""Margin around the visible range, as a share of it."""


class Mark(NamedTuple):
    """One kind of mark: its word in the legend, colour, plotly's shape, size."""

    name: str
    colour: str
    symbol: str
    size: int


MARKS: Final = (
    Mark("recommended", Colour.GREEN, "star", 17),
    Mark("baseline", Colour.AMBER, "square", 12),
    Mark("on the front", Colour.BLUE, "diamond", 11),
    Mark("other configs", Colour.MUTED, "circle", 7),
)
"""Marks, the most informative first; configs that do not meet the rule have an open one."""


def scatter_figures(view: View) -> list[Figure]:
    """Return a picture of the first objective against each other objective that any config has."""
    figures = []
    for other in view.beside_speed:
        rows = view.configs.dropna(subset=[view.rule.speed_column, column_of(other)])
        if len(rows):
            figures.append(_figure(view, rows, other))
    return figures


def _figure(view: View, rows: pd.DataFrame, other: Objective) -> Figure:
    """Draw the configs that have both figures, by the runs that selected."""
    rule, (limit, seen) = view.rule, range_in_sight(view, rows, other)
    is_edge, y = rule.directions == (rule.speed, other), column_of(other)
    hidden = ~rows[y].between(*(seen or (-np.inf, np.inf)))
    alone = (*MARKS, Mark(wording.lacking(rule), Colour.FAINT, "circle-open", 7))
    marks = [*alone]
    for mark in alone:  # the same of runs under other load
        symbol = f"{mark.symbol.removesuffix('-open')}-open"
        marks.append(mark._replace(name=f"{mark.name} {front.LOAD_SIGN}", symbol=symbol))
    tests = [rows["is_recommended"], rows["is_baseline"], rows["on_front"], rows["verdict"] != ""]
    kinds = np.select([test.to_numpy(bool) for test in tests], range(4), 4)
    kinds += 5 * rows[LOAD].to_numpy(int)
    columns = [
        f"{column_of(objective)}{end}"
        for objective in dict.fromkeys((*view.rule.objectives, other))
        for end in ("", "_low", "_high")
    ]
    columns = [*params_of(rows), *columns, "verdict", "on_front", "num_runs", LOAD]
    table = rows[[column for column in columns if column in rows]].assign(
        mark=[marks[kind].name for kind in kinds], trial_ids=rows["trial_ids"].map(" ".join)
    )
    figure = Figure(
        f"speed-{'accuracy' if other == view.beside_speed[0] else other.metric}",
        table,
        " ".join(filter(None, _caption(view, rows, other, num_hidden=int(hidden.sum())))),
        height=460,
        hovermode="closest",
        legend={"traceorder": "reversed"},
    )
    if is_edge:  # of the region that the front dominates, without interpolation
        edge = rows[rows["on_front"]]
        edge = edge[pareto_front(edge, rule.directions)].sort_values(rule.speed_column)
        shape = "vh" if rule.speed.goal is Goal.MAXIMIZE else "hv"
        figure.add(
            "scatter",
            x=edge[rule.speed_column],
            y=edge[y],
            mode="lines",
            line={"color": Colour.BLUE, "width": 1.5, "shape": shape},
            hoverinfo="skip",
            showlegend=False,
        )
    for kind in (4, 9, 3, 8, 2, 7, 1, 6, 0, 5):  # those to be drawn on top come last
        if (kinds == kind).any():
            _add_points(figure, view, rows[kinds == kind], y, marks[kind], many=len(rows) > MANY)
    speeds = rows.loc[~hidden, rule.speed_column]
    is_log = len(speeds) > 1 and speeds.min() > 0 and speeds.max() > _LOG_FROM * speeds.min()
    figure.axes(
        metric_axis(rule.speed.metric, type="log" if is_log else "linear"),
        metric_axis(other.metric, **({"range": seen} if seen else {})),
    )
    if limit is not None:
        figure.line(limit)
    return figure


def _caption(view: View, rows: pd.DataFrame, other: Objective, *, num_hidden: int) -> Iterator[str]:
    yield "Each mark is a config, by the runs that selected."
    if len(rows) <= MANY:
        spread = "with the spread between fresh runs in them"
        over = "within the run alone" if view.tables.pool is None else spread
        yield f"Bars are 95 % intervals, {over}."
    if view.rule.directions == (view.rule.speed, other):
        yield "Line: the edge of what the front's configs dominate."
    if other in view.rule.conditions:
        yield f"Dotted: what the rule asks for, {wording.condition_text(other)}."
    if load := front.load_note(rows):
        yield f"{load}."
    if num_hidden:
        worse = "less accurate" if is_accuracy(other.metric) else "worse"
        yield f"{counted(num_hidden, f'{worse} config')} out of sight: a double click shows all."
    num_drawn, num_all = len(view.configs), len(view.all_configs)
    if num_all > num_drawn:
        yield f"{num_drawn:,} of {num_all:,} configs are drawn; trials.csv has all."


def range_in_sight(
    view: View, rows: pd.DataFrame, other: Objective
) -> tuple[float | None, list[float] | None]:
    """Return the worst figure that is recommended, and the visible range of figures.

    The first is None if the figure is no condition; the second is None for all of them. The limit
    is the edge of the range. A figure without a limit has an edge far behind the best: one diverged
    config must not flatten the rest. Baseline and recommended config are always visible.
    """
    known = view.rule.limits(view.all_configs).get(other.metric)
    sign, figures = other.sign, rows[column_of(other)]
    values, best = sign * figures, best_of(other, figures)
    if known is None or pd.isna(known):
        behind = 2.5 * float((sign * best - values).median())
        known, limit = None, best - sign * max(20 * abs(best - limit_of(other, figures)), behind)
    else:
        known = limit = float(known)
    marked = values[rows["is_baseline"] | rows["is_recommended"]]
    low, high = min([sign * limit, *marked]), float(values.max())
    depth = (high - low) or abs(high) * _PADDING or 1.0
    low, high = low - 2 * _PADDING * depth, high + _PADDING * depth
    return known, sorted([sign * low, sign * high]) if values.min() < low else None


def _add_points(
    figure: Figure, view: View, rows: pd.DataFrame, y: str, mark: Mark, *, many: bool
) -> None:
    is_small = many and mark.size == MARKS[-1].size
    is_open = mark.symbol.endswith("-open")
    x = view.rule.speed_column
    error_bars = {
        f"error_{end}": bars(rows, (column, f"{column}_low", f"{column}_high"), mark.colour)
        for end, column in (("x", x), ("y", y))
        if f"{column}_high" in rows.columns and not many
    }
    figure.add(
        "scatter",
        x=rows[x],
        y=rows[y],
        **error_bars,
        mode="markers",
        name=mark.name,
        marker={"color": mark.colour, "size": 4 if is_small else mark.size, "opacity": 1.0,
                "symbol": mark.symbol,
                "line": {"color": mark.colour if is_open else Colour.PAPER,
                         "width": 1.5 if is_open else 0 if is_small else 1}},
        text=hover(view, rows),
        hovertemplate="%{text}<extra></extra>",
    )  # fmt: skip


def hover(view: View, rows: pd.DataFrame) -> list[str]:
    """Return the words on each config: its knobs, figures, verdict and evidence, safe as HTML."""
    learned, known = wording.learned_word(view.rule), list[list[str]]()
    for column in varying_params_of(view.configs):
        name, values = column.removeprefix("params."), rows[column].tolist()
        words = {value: html.escape(f"{name}={wording.short(value)}") for value in {*values}}
        known.append([words[value] for value in values])
    metrics = measured(rows, [*(o.metric for o in view.rule.objectives), *names_shown(Place.HOVER)])
    for metric in metrics:
        figures = rows[f"metrics.{metric}"].tolist()
        known.append([html.escape(f"{metric}: {wording.shown(metric, each)}") for each in figures])
    others, texts = rows.drop(columns=[*params_of(rows), *metrics_of(rows)]), []
    for row, *lines in zip(others.to_dict("records"), *known, strict=True):
        bound, ratio = text_of(row.get("tags.bound")), wording.ratio_text(row)
        more = [
            front.load_sign_of(row).strip(),
            ", ".join(filter(None, [row["verdict"], f"{ratio} of the best" if ratio else ""])),
            f"bound by: {bound}" if bound else "",
            f"{front.grounds_text(row, learned)}, {row['interval']}",
        ]
        texts.append("<br>".join([*lines, *map(html.escape, filter(None, more))]))
    return texts
