"""``report.html``: the figures and tables, put into one page."""

from __future__ import annotations

import json
from collections.abc import Iterable
from dataclasses import dataclass
from functools import cache
from pathlib import Path

import pandas as pd
from jinja2 import (
    Environment,
    FileSystemLoader,
    StrictUndefined,
    Template,
    pass_context,
    select_autoescape,
)
from jinja2.runtime import Context

from orchestrator.analysis.report.figures import Figure, tables_of
from orchestrator.analysis.report.headline import command_of, headline_of, settings_of
from orchestrator.analysis.report.sections.ceilings import ceilings_of
from orchestrator.analysis.report.sections.composed import composed_of
from orchestrator.analysis.report.sections.environment import environment_of
from orchestrator.analysis.report.sections.infeasible import walls_of
from orchestrator.analysis.report.sections.order import sections_of
from orchestrator.analysis.report.sections.published import studies
from orchestrator.analysis.report.sections.scatter import scatter_figures
from orchestrator.analysis.report.sections.section import figures_of, tables_of_sections
from orchestrator.analysis.report.sections.trials import lost_trials, trials_table
from orchestrator.analysis.report.sections.verdicts import verdicts_of
from orchestrator.analysis.report.states import counts_of_states
from orchestrator.analysis.report.style import DARK
from orchestrator.analysis.report.tables import front_table
from orchestrator.analysis.report.view import View
from orchestrator.analysis.wording import as_sentence, counted
from orchestrator.metrics import METRICS, is_accuracy


@dataclass(frozen=True, kw_only=True)
class Report:
    """The page, and the tables of its figures and its own by name, for files beside it."""

    html: str
    tables: dict[str, pd.DataFrame]


def report_of(view: View) -> Report:
    """Return the page, self-contained (scripts, styles, figures), and the tables that it shows."""
    parts, walls = sections_of(view), walls_of(view)
    pictures = {figure.name: figure for figure in scatter_figures(view)}
    figures = pictures | figures_of((*parts, walls))
    front, verdicts, ceilings = (
        front_table(view, view.shown),
        verdicts_of(view),
        ceilings_of(view),
    )
    tables = {"front": front} | tables_of_sections(parts)
    if verdicts:
        tables["verdicts"] = verdicts.table
    if ceilings:
        tables["ceilings"] = ceilings.table
    html = _template().render(
        sweep=view.sweep,
        data_note=view.sweep.data_note,
        settings=settings_of(view),
        headline=headline_of(view),
        command=command_of(view),
        states=_states(view),
        heading=_heading(view),
        pictures=list(pictures),
        composed=composed_of(view),
        front=front,
        others={name: front_table(view, configs) for name, configs in view.others.items()},
        verdicts=verdicts,
        ceilings=ceilings,
        first=parts[:1],
        parts=parts[1:],
        walls=walls,
        trials=trials_table(view),
        has_output=bool(view.outputs),
        lost=lost_trials(view),
        studies=studies(view),
        figures=figures,
        figures_json=_as_script(_drawings(figures.values())),
        environment=environment_of(view),
        plotly=plotly_js(),
    )
    frames = {name: table.to_frame() for name, table in tables.items() if table.rows}
    return Report(html=html, tables=tables_of(figures.values()) | frames)


def plotly_js() -> str:
    """Return plotly.js with the cartesian traces, of the version that plotly draws for."""
    return (Path(__file__).parent / "vendored" / "plotly-cartesian.min.js").read_text("utf-8")


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
    environment.filters["sentence"] = _sentence
    environment.filters["unit"] = lambda name: METRICS[name].unit if name in METRICS else ""
    return environment.get_template("report.html.j2")


@pass_context
def _sentence(context: Context, text: str) -> str:
    return as_sentence(text, context["sweep"].knobs)


def _drawings(figures: Iterable[Figure]) -> dict[str, object]:
    """Return what the page's script draws, with the colours of a dark screen."""
    return {"figures": {figure.name: figure.to_json() for figure in figures}, "dark": DARK}


def _as_script(content: object) -> str:
    """Return JSON that can stand inside a script element: nothing in it can end the element."""
    return json.dumps(content, separators=(",", ":")).replace("<", "\\u003c")


def _states(view: View) -> str:
    states = [f"{count:,} {words}" for words, count in counts_of_states(view.trials).items()]
    return ": ".join([counted(len(view.trials), "trial"), *([", ".join(states)] if states else [])])
