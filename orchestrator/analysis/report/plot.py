"""A picture of the front, for places that show no page (MLflow's artifacts)."""

from __future__ import annotations

from pathlib import Path
from typing import Literal

from matplotlib.axes import Axes
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.figure import Figure

from orchestrator.analysis.report.marks import CONFIRMED, marks_of
from orchestrator.analysis.report.sections.captions import drawn, drawn_as_confirmed
from orchestrator.analysis.report.sections.ranges import are_hidden, range_from_limit
from orchestrator.analysis.report.style import BLUE, GRID, INK, MUTED, PAPER
from orchestrator.analysis.report.view import View, axis_title
from orchestrator.analysis.rule import column_of
from orchestrator.analysis.statistics.pareto import pareto_front
from orchestrator.analysis.wording import counted, is_share, less_good
from orchestrator.metrics import Goal, Objective


def write_front_png(view: View, path: Path) -> None:
    """Write the picture of the front as a PNG."""
    front_picture(view).savefig(path, format="png")


def front_picture(view: View) -> Figure:
    """Draw every completed config by the first objective and each other one."""
    # The object interface alone: pyplot would look for a display and keep a global state.
    others = view.beside_speed
    figure = Figure(figsize=(8, 5 * max(len(others), 1)), dpi=150, layout="constrained")
    FigureCanvasAgg(figure)
    for number, other in enumerate(others, start=1):
        _draw(figure.add_subplot(len(others), 1, number), view, other)
    if others:
        title = f"{view.sweep.name} on {view.sweep.data}"
        figure.axes[0].set_title(title, loc="left", color=INK)
    return figure


def _draw(axes: Axes, view: View, other: Objective) -> None:
    """Draw the configs, the front and the marked ones."""
    both = (view.rule.speed, other)
    scale = [100.0 if is_share(objective.metric) else 1.0 for objective in both]
    columns = [column_of(objective) for objective in both]
    points, again = (
        some.assign(x=some[columns[0]] * scale[0], y=some[columns[1]] * scale[1]).sort_values("x")
        for some in (drawn(view, other), drawn_as_confirmed(view, other))
    )
    shown = range_from_limit(view, other)
    hidden = are_hidden(points, columns[1], shown)
    _say_how_many(axes, f"{less_good(other.metric)} config", int(hidden.sum()))
    points = points[~hidden]
    front = points[points["on_front"]]
    if view.rule.directions == both and len(front):
        edge = front[pareto_front(front, both)]
        minimized = view.rule.speed.goal is Goal.MINIMIZE
        where: Literal["pre", "post"] = "post" if minimized else "pre"
        axes.step(edge["x"], edge["y"], where=where, color=BLUE, linewidth=1.2, zorder=1)
    kinds = [(name, *of_kind) for name, of_kind in marks_of(points, view.rule).items()]
    for place, (mark, rows) in enumerate(marks_of(again, view.rule).values()):
        # A word with an underscore before it is not in the legend.
        kinds.append((f"{'_' * bool(place)}{CONFIRMED}", mark.opened, rows))
    for order, (name, mark, rows) in enumerate(kinds, start=2):
        axes.scatter(
            rows["x"], rows["y"], s=mark.size**2 / 2, marker=mark.shape, linewidths=0.8,
            facecolors="none" if mark.is_open else mark.colour,
            edgecolors=mark.colour if mark.is_open else PAPER, label=name, zorder=order,
        )  # fmt: skip
    if shown is not None:
        axes.set_ylim(*(end * scale[1] for end in shown))
    axes.set_xlabel(_title(view.rule.speed.metric), color=MUTED)
    axes.set_ylabel(_title(other.metric), color=MUTED)
    axes.grid(color=GRID)
    axes.set_axisbelow(True)
    for side in ("top", "right"):
        axes.spines[side].set_visible(False)
    if len(points):
        axes.legend(frameon=False, fontsize=9, loc="best")


def _say_how_many(axes: Axes, kind: str, count: int) -> None:
    """Say how many configs the picture leaves out; nothing where there is none."""
    if count:
        text = f"{counted(count, kind)} {'is' if count == 1 else 'are'} not in sight"
        axes.text(1, 1.01, text, transform=axes.transAxes, ha="right", fontsize=9, color=MUTED)


def _title(metric: str) -> str:
    return f"{axis_title(metric)} (%)" if is_share(metric) else axis_title(metric)
