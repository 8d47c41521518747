"""``report.html``: the figures and tables, put into one page."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Final

import pandas as pd
from jinja2 import Environment, FileSystemLoader, StrictUndefined, Template, select_autoescape

from analysis.report.figures import Figure, tables_of
from analysis.report.headline import command_of, headline_of, settings_of
from analysis.report.sections.ceilings import ceilings_of
from analysis.report.sections.composed import composed_of
from analysis.report.sections.curves import learning_curves
from analysis.report.sections.effects import knob_effects
from analysis.report.sections.environment import environment_of
from analysis.report.sections.published import studies
from analysis.report.sections.scatter import scatter_figures
from analysis.report.sections.steps import step_times
from analysis.report.sections.times import times_of
from analysis.report.sections.verdicts import verdicts_of
from analysis.report.states import counts_of_states
from analysis.report.tables import front_table, lost_trials, trials_table
from analysis.report.view import View
from analysis.wording import counted
from orchestrator.metrics import is_accuracy

if TYPE_CHECKING:
    import plotly.graph_objects as go


@dataclass(frozen=True, kw_only=True)
class Report:
    """The page, and the tables of its figures and its own by name, for files beside it."""

    html: str
    tables: dict[str, pd.DataFrame]


def report_html(view: View) -> str:
    """Return the page, self-contained: scripts, styles and figures are in it."""
    return report_of(view).html


def report_of(view: View) -> Report:
    """Return the page and the tables that it shows."""
    figures = {figure.name: figure for section in _FIGURES for figure in section(view)}
    front, verdicts, ceilings = (
        front_table(view, view.configs),
        verdicts_of(view),
        ceilings_of(view),
    )
    tables = {"front": front}
    if verdicts:
        tables["verdicts"] = verdicts.table
    if ceilings:
        tables["ceilings"] = ceilings.table
    html = _template().render(
        sweep=view.sweep,
        data_note=view.sweep.data_note,
        recommendation=view.recommendation,
        settings=settings_of(view),
        headline=headline_of(view),
        command=command_of(view),
        states=_states(view),
        heading=_heading(view),
        pictures=[name for name in figures if name.startswith("speed-")],
        composed=composed_of(view),
        front=front,
        others={name: front_table(view, configs) for name, configs in view.others.items()},
        verdicts=verdicts,
        ceilings=ceilings,
        times=times_of(view),
        trials=trials_table(view),
        lost=lost_trials(view),
        studies=studies(view),
        effects=[name for name in figures if name.startswith("effect-")],
        figures=figures,
        figures_json=_as_script({name: figure.to_json() for name, figure in figures.items()}),
        environment=environment_of(view),
        plotly=plotly_js(),
    )
    frames = {name: table.to_frame() for name, table in tables.items() if table.rows}
    return Report(html=html, tables=tables_of(figures.values()) | frames)


def plotly_js() -> str:
    """Return plotly.js with the cartesian traces, of the version that plotly draws for."""
    return (Path(__file__).parent / "vendored" / "plotly-cartesian.min.js").read_text("utf-8")


def _steps(view: View) -> Iterable[Figure]:
    figure = step_times(view)
    return [_wrapped("step-times", figure, _STEPS)] if figure else []


def _curves(view: View) -> Iterable[Figure]:
    figure = learning_curves(view)
    return [_wrapped("learning-curves", figure, _CURVES)] if figure else []


def _effects(view: View) -> Iterable[Figure]:
    return [
        _wrapped(f"effect-{name}", figure, f"The configs by {name}.")
        for name, figure in knob_effects(view).items()
    ]


def _wrapped(name: str, figure: go.Figure, caption: str) -> Figure:
    return Figure(name=name, figure=figure, table=pd.DataFrame(), caption=caption)


_STEPS: Final = (
    "Mean time of the steady steps by phase, for as many samples each; the slower the config the "
    "longer its bar. Starts of epochs are part of it only where epochs are too short for a steady "
    "state; evaluation never is."
)
_CURVES: Final = (
    "Trials of the searching stage. Time counts from the start of the trial's process, evaluation "
    "included."
)
_FIGURES: Final[tuple[Callable[[View], Iterable[Figure]], ...]] = (
    scatter_figures,
    _steps,
    _curves,
    _effects,
)
"""The figures of each section, in the order of the page."""


def _heading(view: View) -> str:
    first = "speed" if view.rule.is_of_speed else view.rule.speed.metric
    others = ["accuracy" if is_accuracy(o.metric) else o.metric for o in view.beside_speed]
    return f"{first} against {' and '.join(others)}" if others else first


@cache
def _template() -> Template:
    environment = Environment(
        loader=FileSystemLoader(Path(__file__).parent / "templates"),
        # The page's own name ends in .j2: everything in it is HTML all the same.
        autoescape=select_autoescape(default=True),
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    environment.filters["sentence"] = lambda text: text[:1].upper() + text[1:].removesuffix(".")
    return environment.get_template("report.html.j2")


def _as_script(content: object) -> str:
    """Return JSON that can stand inside a script element: nothing in it can end the element."""
    return json.dumps(content, separators=(",", ":")).replace("<", "\\u003c")


def _states(view: View) -> str:
    states = [f"{count:,} {words}" for words, count in counts_of_states(view.trials).items()]
    return ": ".join([counted(len(view.trials), "trial"), *([", ".join(states)] if states else [])])
