"""A picture of the front, for places that show no page (MLflow's artifacts)."""

from __future__ import annotations

from pathlib import Path
from typing import Literal

import pandas as pd
from matplotlib.axes import Axes
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.figure import Figure

from analysis.report.style import AMBER, BLUE, FAINT, GREEN, GRID, INK, MUTED, VERDICTS
from analysis.report.view import View, axis_title
from analysis.rule import column_of
from analysis.rule_words import lacking
from analysis.wording import is_share
from orchestrator.metrics import Goal, Objective


def write_front_png(view: View, path: Path) -> None:
    """Draw every completed config by the first objective and each other one, as a PNG."""
    # The object interface alone: pyplot would look for a display and keep a global state.
    others = view.beside_speed
    figure = Figure(figsize=(8, 5 * max(len(others), 1)), dpi=150, layout="constrained")
    FigureCanvasAgg(figure)
    for number, other in enumerate(others, start=1):
        _draw(figure.add_subplot(len(others), 1, number), view, other)
    if others:
        title = f"{view.sweep.name} on {view.sweep.data}"
        figure.axes[0].set_title(title, loc="left", color=INK)
    figure.savefig(path, format="png")


def _draw(axes: Axes, view: View, other: Objective) -> None:
    """Draw the configs, the front and the marked ones."""
    drawn = (view.rule.speed, other)
    scale = [100.0 if is_share(objective.metric) else 1.0 for objective in drawn]
    columns = [column_of(objective) for objective in drawn]
    configs = view.configs.dropna(subset=columns)
    x, y = (configs[column] * by for column, by in zip(columns, scale, strict=True))
    points = pd.DataFrame({"x": x, "y": y})
    front = points[configs["on_front"]].sort_values("x")
    for verdict, colour in reversed(VERDICTS.items()):
        some = points[configs["verdict"] == verdict]
        if len(some):
            axes.scatter(
                some["x"], some["y"], s=26, color=colour, linewidths=0.8,
                edgecolors="white" if verdict else FAINT,
                label=verdict or lacking(view.rule), zorder=2,
            )  # fmt: skip
    if view.rule.directions == drawn:
        minimized = view.rule.speed.goal is Goal.MINIMIZE
        where: Literal["pre", "post"] = "post" if minimized else "pre"
        axes.step(front["x"], front["y"], where=where, color=BLUE, linewidth=1.2, zorder=1)
    axes.scatter(
        front["x"], front["y"], s=34, facecolors="none", edgecolors=BLUE, linewidths=1.4,
        label="on the front", zorder=3,
    )  # fmt: skip
    for mark, colour, symbol in (("baseline", AMBER, "s"), ("recommended", GREEN, "o")):
        marked = points[configs[f"is_{mark}"]]
        if len(marked):
            axes.scatter(
                marked["x"], marked["y"], s=130, marker=symbol, facecolors="none",
                edgecolors=colour, linewidths=2, label=mark, zorder=4,
            )  # fmt: skip
    axes.set_xlabel(_title(view.rule.speed.metric), color=MUTED)
    axes.set_ylabel(_title(other.metric), color=MUTED)
    axes.grid(color=GRID)
    axes.set_axisbelow(True)
    for side in ("top", "right"):
        axes.spines[side].set_visible(False)
    axes.legend(frameon=False, fontsize=9, loc="best")


def _title(metric: str) -> str:
    return f"{axis_title(metric)} (%)" if is_share(metric) else axis_title(metric)
