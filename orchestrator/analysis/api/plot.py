"""The report's figures, as plotly figures: ``an.plot.curves(run)``.

Each function takes a run and returns a ``plotly.graph_objects.Figure``, drawn by the report's own
code. If a figure cannot be drawn from a run, a ``TableError`` gives the report's reason.
"""

from __future__ import annotations

from functools import lru_cache
from typing import TYPE_CHECKING

from orchestrator.analysis.columns import TableError
from orchestrator.analysis.knobs.scaling import scaling as scaling_of
from orchestrator.analysis.report.sections.curves import curves_of
from orchestrator.analysis.report.sections.effects import effects_of
from orchestrator.analysis.report.sections.front import front_of
from orchestrator.analysis.report.sections.scaling import scaling_figure
from orchestrator.analysis.report.sections.settings import ladder_of
from orchestrator.analysis.report.sections.timing import steps_of
from orchestrator.analysis.report.tables import Section
from orchestrator.analysis.report.view import View
from orchestrator.analysis.tables.run_tables import RunTables

if TYPE_CHECKING:
    import plotly.graph_objects as go


def speed_accuracy(run: RunTables) -> go.Figure:
    """Draw every completed config by the first objective and another objective, and the front."""
    return _first(next(front_of(_view(run))), "speed_accuracy")


def effects(run: RunTables) -> go.Figure:
    """Draw the effect of each knob on the first objective, by pairs, with 95 % intervals."""
    return _first(effects_of(_view(run)), "effects")


def curves(run: RunTables) -> go.Figure:
    """Draw accuracy over the time that training took to get there."""
    return _first(curves_of(_view(run)), "curves")


def steps(run: RunTables) -> go.Figure:
    """Draw the time per 1,000 samples by phase of a step, a bar a config."""
    return _first(steps_of(_view(run)), "steps")


def ladder(run: RunTables) -> go.Figure:
    """Draw the first objective from the baseline to the recommended config, one knob a step."""
    return _first(ladder_of(_view(run)), "ladder")


def scaling(run: RunTables, knob: str = "num_workers") -> go.Figure:
    """Draw the speed over a knob of numbers: configs that differ in it alone, with ceilings."""
    return scaling_figure(_view(run), scaling_of(run, knob)).figure


@lru_cache(maxsize=1)
def _view(tables: RunTables) -> View:
    """Return the run as the report shows it; the result for the last run is cached."""
    return View(tables=tables)


def _first(section: Section | None, function: str) -> go.Figure:
    if section is None or not section.figures:
        reason = section.missing if section else "nothing is recommended"
        raise TableError(f"plot.{function}: {reason or 'the noise hides all of it'}")
    return section.figures[0].figure
