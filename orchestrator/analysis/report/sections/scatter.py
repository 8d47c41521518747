"""The first objective against another one: every config that completed, and the front."""

from __future__ import annotations

from typing import Any, Final

import numpy as np
import pandas as pd

from orchestrator.analysis.columns import params_of
from orchestrator.analysis.recommendation.front import MEASURED_IN
from orchestrator.analysis.report.figures import Drawing, Figure
from orchestrator.analysis.report.sections.captions import (
    MANY,
    caption_of,
    drawn,
    drawn_as_confirmed,
    hover,
    label_of,
)
from orchestrator.analysis.report.sections.ranges import (
    are_hidden,
    limit_in,
    range_from_limit,
    speed_axis,
)
from orchestrator.analysis.report.style import (
    BASELINE,
    BLUE,
    CONFIRMED,
    MUTED,
    ON_FRONT,
    PAPER,
    RECOMMENDED,
    Mark,
    axis,
    marks_of,
)
from orchestrator.analysis.report.view import View, axis_title, tick_format
from orchestrator.analysis.rule import column_of
from orchestrator.analysis.statistics.pareto import pareto_front
from orchestrator.analysis.wording import less_good
from orchestrator.formats import counted
from orchestrator.metrics import Goal, Objective

_BINS: Final = 80


def scatter_figures(view: View) -> list[Figure]:
    """Return a picture of the first objective against each other one that any config has."""
    return [_figure(view, other) for other in view.beside_speed if len(drawn(view, other))]


def _figure(view: View, other: Objective) -> Figure:
    figure, hidden = scatter(view, other), num_hidden(view, other)
    axes = {f"{axis}.range": figure.layout[axis].get("range") for axis in ("xaxis", "yaxis")}
    name = "accuracy" if other == view.beside_speed[0] else other.metric
    return Figure(
        name=f"speed-{name}",
        drawing=figure,
        table=_table(view, other),
        caption=caption_of(view, other),
        label=label_of(view, other),
        shown={name: list(ends) for name, ends in axes.items() if ends and hidden},
        rest=f"Show {counted(hidden, f'{less_good(other.metric)} config')} too" if hidden else "",
    )


def scatter(view: View, other: Objective) -> Drawing:
    """Draw every completed config by the first objective and ``other``, and the front."""
    first, column = view.rule.speed, column_of(other)
    rows, again = drawn(view, other), drawn_as_confirmed(view, other)
    seen, all_rows = range_from_limit(view, other), pd.concat([rows, again], ignore_index=True)
    figure = Drawing(height=460, hovermode="closest", legend={"traceorder": "reversed"})
    speed = speed_axis(all_rows, view.rule.speed_column, are_hidden(all_rows, column, seen))
    if view.num_configs > len(view.configs):
        figure.add("heatmap", **_crowd(view, column, is_log=speed["type"] == "log"))
    if view.rule.directions == (first, other):
        figure.add("scatter", **_front_line(view, rows[rows["on_front"]], other))
    many = len(rows) > MANY
    for name, (mark, some) in marks_of(rows, view.rule).items():
        figure.add("scatter", **_points(view, some, other, name, mark, many=many))
    for place, (mark, some) in enumerate(marks_of(again, view.rule).values()):
        points = _points(view, some, other, CONFIRMED, mark.opened, many=many)
        # Of a reversed legend the first is the last.
        in_legend = {"legendgroup": CONFIRMED, "legendrank": 1, "showlegend": not place}
        figure.add("scatter", **points, **in_legend)
    ticks = {"tickformat": tick_format(other.metric), "range": seen}
    figure.axes(
        axis(axis_title(first.metric), **speed),
        axis(axis_title(other.metric), **{k: v for k, v in ticks.items() if v}),
    )
    limit = limit_in(view, other)
    if limit is not None:
        figure.line(limit, color=MUTED, width=1, dash="dot")
    return figure


def _points(
    view: View, rows: pd.DataFrame, other: Objective, name: str, mark: Mark, *, many: bool
) -> dict[str, Any]:
    words, template = hover(view, rows)
    is_small = many and mark not in (RECOMMENDED, BASELINE, ON_FRONT)
    x, y = view.rule.speed_column, column_of(other)
    return {
        "x": rows[x].to_numpy(),
        "y": rows[y].to_numpy(),
        "error_x": _error_bars(rows, x, mark.colour, many=many),
        "error_y": _error_bars(rows, y, mark.colour, many=many),
        "mode": "markers",
        "name": name,
        "marker": {"color": mark.colour, "size": 4 if is_small else mark.size, "opacity": 1.0,
                "symbol": mark.symbol,
                "line": {"color": mark.colour if mark.is_open else PAPER,
                         "width": 1.5 if mark.is_open else 0 if is_small else 1}},
        "customdata": words,
        "hovertemplate": template,
    }  # fmt: skip


def _error_bars(rows: pd.DataFrame, column: str, colour: str, *, many: bool) -> dict[str, Any]:
    if f"{column}_high" not in rows.columns or many:
        return {"visible": False}
    return {
        "type": "data",
        "array": (rows[f"{column}_high"] - rows[column]).fillna(0).tolist(),
        "arrayminus": (rows[column] - rows[f"{column}_low"]).fillna(0).tolist(),
        "symmetric": False,
        "color": colour,
        "thickness": 1,
        "width": 2,
    }


def _crowd(view: View, column: str, *, is_log: bool) -> dict[str, Any]:
    """Return the number of configs by speed and figure, of all of them, as a field of grey."""
    known = view.all_configs[[view.rule.speed_column, column]].dropna().to_numpy(np.float64)
    x, y = known[:, 0], known[:, 1]
    counts, x_edges, y_edges = np.histogram2d(np.log10(x) if is_log else x, y, bins=_BINS)
    return {
        "x": (10**x_edges if is_log else x_edges).tolist(),
        "y": y_edges.tolist(),
        "z": np.log10(np.where(counts > 0, counts, np.nan)).T.round(2).tolist(),
        "colorscale": [[0, "rgba(125,137,150,0.10)"], [1, "rgba(125,137,150,0.65)"]],
        "showscale": False,
        "hoverinfo": "skip",
    }


def _front_line(view: View, front: pd.DataFrame, other: Objective) -> dict[str, Any]:
    """Return the edge of what the front's configs dominate, by the figures that are shown."""
    speed = view.rule.speed_column
    edge = front[pareto_front(front, view.rule.directions)].sort_values(speed)
    return {
        "x": edge[speed].tolist(),
        "y": edge[column_of(other)].tolist(),
        "mode": "lines",
        # The edge of what the front's configs dominate, not a guess at what lies between.
        "line": {"color": BLUE, "width": 1.5,
              "shape": "vh" if view.rule.speed.goal is Goal.MAXIMIZE else "hv"},
        "hoverinfo": "skip",
        "showlegend": False,
    }  # fmt: skip


def _table(view: View, other: Objective) -> pd.DataFrame:
    """Return what is drawn, one row a mark, with the ids of its trials."""
    some = [drawn(view, other), drawn_as_confirmed(view, other)]
    rows = pd.concat(some, ignore_index=True)
    marks = pd.Series("", index=rows.index, dtype="object")
    for name, (_, of_mark) in marks_of(rows, view.rule).items():
        marks[of_mark.index] = name
    marks[len(some[0]) :] += f", {CONFIRMED}"
    figures = [
        f"{column_of(objective)}{end}"
        for objective in dict.fromkeys((*view.objectives, other))
        for end in ("", "_low", "_high")
    ]
    columns = [*params_of(rows), *figures, "verdict", "on_front", "num_runs", MEASURED_IN]
    table = rows[[column for column in columns if column in rows]]
    return table.assign(mark=marks, trial_ids=rows["trial_ids"].map(" ".join))


def num_hidden(view: View, other: Objective) -> int:
    """Return the number of configs that the figure does not show until it is zoomed out."""
    known = view.all_configs.dropna(subset=[view.rule.speed_column])
    return int(are_hidden(known, column_of(other), range_from_limit(view, other)).sum())
