"""The report's figures, as plotly figures: ``an.plot.curves(run)``.

Each function takes a run and returns a ``plotly.graph_objects.Figure``, drawn by the report's own
code. If a figure cannot be drawn from a run, a ``TableError`` gives the report's reason.
"""

from __future__ import annotations

from functools import lru_cache
from typing import TYPE_CHECKING, Literal

from orchestrator.analysis.api.knobs import effects as effects_of_run
from orchestrator.analysis.api.scaling import scaling as scaling_of
from orchestrator.analysis.columns import TableError
from orchestrator.analysis.findings.findings import findings
from orchestrator.analysis.report.drawing import Figure
from orchestrator.analysis.report.sections.curves import curves_of
from orchestrator.analysis.report.sections.knobs.effects import forest, importance_of, main_rows
from orchestrator.analysis.report.sections.knobs.ladder import ladder_of
from orchestrator.analysis.report.sections.scaling import scaling_figure
from orchestrator.analysis.report.sections.scatter import scatter_figures
from orchestrator.analysis.report.sections.timing import steps_of
from orchestrator.analysis.report.tables import Section
from orchestrator.analysis.report.view import View, view_of
from orchestrator.analysis.tables.run_tables import RunTables
from orchestrator.errors import nearest

if TYPE_CHECKING:
    import plotly.graph_objects as go


def speed_accuracy(run: RunTables, other: str | None = None) -> go.Figure:
    """Draw every completed config by the first objective and another objective, and the front.

    Args:
        run: A run.
        other: The other objective; None: the sweep's second one. With a single objective,
            another measured figure.
    """
    view = _view(run)
    found = {figure.name: figure for figure in scatter_figures(view)}
    first, *others = (objective.metric for objective in view.beside_speed)
    names = {first: "speed-accuracy"} | {metric: f"speed-{metric}" for metric in others}
    if other is not None and other not in names:
        raise TableError(
            f"plot.speed_accuracy: {other!r} is no other objective of the run"
            f"{nearest(other, names)}"
        )
    figure = found.get(names[other]) if other else next(iter(found.values()), None)
    if figure is None:
        raise TableError("plot.speed_accuracy: no config completed with every objective measured")
    return figure.figure


def effects(run: RunTables, on: str | None = None) -> go.Figure:
    """Draw the effect of each knob on a figure, by matched pairs, with 95 % intervals.

    Args:
        run: A run.
        on: The figure, for all knobs. None: the first objective, for the knobs that change it by
            their role.
    """
    view = _view(run)
    metric = (on or view.rule.speed.metric).removeprefix("metrics.")
    rows = main_rows(effects_of_run(view.tables, on), view)
    rows = rows[rows["metric"] == metric]
    if rows.empty:
        raise TableError(
            f"plot.effects: no two configs that have {metric} differ in one knob alone, or the "
            "noise hides what it does"
        )
    return forest(view, rows, metric).figure


def curves(run: RunTables, over: Literal["time", "samples"] = "time") -> go.Figure:
    """Draw accuracy over the time, or over the samples, that training took to get there."""
    figures = _figures(curves_of(_view(run)), "curves")
    found = [figure for figure in figures if figure.name.endswith(f"-{over}")]
    if not found:
        raise TableError(f"plot.curves: no trial reports its {over}", "over='time' or 'samples'")
    return found[0].figure


def steps(run: RunTables) -> go.Figure:
    """Draw the time per 1,000 samples by phase of a step, a bar a config."""
    return _figures(steps_of(_view(run)), "steps")[0].figure


def ladder(run: RunTables) -> go.Figure:
    """Draw the first objective from the baseline to the recommended config, one knob a step."""
    return _figures(ladder_of(_view(run)), "ladder")[0].figure


def importance(run: RunTables) -> go.Figure:
    """Draw how much each knob matters for a good speed and for a good accuracy, by PED-ANOVA."""
    return _figures(importance_of(_view(run)), "importance")[0].figure


def scaling(run: RunTables, knob: str = "num_workers") -> go.Figure:
    """Draw the speed over a knob of numbers: configs that differ in it alone, with ceilings."""
    view = _view(run)
    return scaling_figure(view, scaling_of(view.tables, knob)).figure


@lru_cache(maxsize=1)
def _view(tables: RunTables) -> View:
    """Return the run as the report shows it; the result for the last run is cached."""
    return view_of(tables, findings(tables))


def _figures(section: Section | None, function: str) -> tuple[Figure, ...]:
    if section is None or not section.figures:
        reason = section.missing if section else "nothing is recommended"
        raise TableError(f"plot.{function}: {reason}")
    return section.figures
