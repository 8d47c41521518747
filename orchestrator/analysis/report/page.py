"""``report.html``: the first screen and the sections, put into one page."""

from __future__ import annotations

import json
from dataclasses import dataclass
from functools import cache
from pathlib import Path

import pandas as pd
from jinja2 import Environment, FileSystemLoader, StrictUndefined, Template, pass_context
from jinja2.runtime import Context

from orchestrator.analysis.report.drawing import DARK, Figure
from orchestrator.analysis.report.first_screen import first_screen
from orchestrator.analysis.report.sections.curves import curves_of
from orchestrator.analysis.report.sections.front import front_of
from orchestrator.analysis.report.sections.knobs.effects import effects_of, importance_of
from orchestrator.analysis.report.sections.knobs.ladder import ladder_of
from orchestrator.analysis.report.sections.published import published_of
from orchestrator.analysis.report.sections.timing import ceilings_of, steps_of, times_of
from orchestrator.analysis.report.sections.trials import (
    counts_of_states,
    environment_of,
    lost_of,
    trials_of,
)
from orchestrator.analysis.report.tables import Section
from orchestrator.analysis.report.view import View
from orchestrator.analysis.wording import as_sentence
from orchestrator.formats import counted
from orchestrator.metric_table import unit_of


def sections_of(view: View) -> tuple[Section, ...]:
    """Return the sections of the page in their order.

    If no config completed, one sentence replaces the sections on knobs, steps and curves.
    """
    effects, is_empty = effects_of(view), view.all_configs.empty
    importance = None if effects.missing else importance_of(view)
    of_configs = (
        ladder_of(view),
        importance,
        curves_of(view),
        times_of(view),
        steps_of(view),
        ceilings_of(view),
    )
    sections = (
        effects,
        *front_of(view),
        *(() if is_empty else of_configs),
        *published_of(view),
        lost_of(view),
        trials_of(view),
        environment_of(view),
    )
    return tuple(section for section in sections if section is not None)


@dataclass(frozen=True, kw_only=True)
class Report:
    """The page with its pictures of the front, and its tables by name, for separate files."""

    html: str
    pictures: tuple[Figure, ...]
    tables: dict[str, pd.DataFrame]


def report_of(view: View) -> Report:
    """Return the page, self-contained (scripts, styles, figures), and the tables that it shows."""
    sections, sweep = sections_of(view), view.sweep
    figures = {figure.name: figure for section in sections for figure in section.figures}
    drawn = {name: figure.to_json() for name, figure in figures.items()}
    counts = [f"{n:,} {words}" for words, n in counts_of_states(view.trials).items()]
    states = ": ".join(filter(None, [counted(len(view.trials), "trial"), ", ".join(counts)]))
    script = json.dumps({"figures": drawn, "dark": DARK}, separators=(",", ":"))
    html = _template().render(
        sweep=sweep,
        states=states,
        first=first_screen(view),
        sections=sections,
        figures_json=script.replace("<", "\\u003c"),  # nothing in it ends the script element
        plotly=plotly_js(),
    )
    tables = {name: figure.table for name, figure in figures.items()} | {
        section.name: section.table.to_frame()
        for section in sections
        if section.table is not None and section.table.rows and section.name != "trials"
    }
    pictures = next(section.figures for section in sections if section.name == "speed")
    return Report(html=html, pictures=pictures, tables=tables)


def plotly_js() -> str:
    """Return plotly.js with the cartesian traces, in the version for which plotly draws."""
    return (Path(__file__).parent / "vendored" / "plotly-cartesian.min.js").read_text("utf-8")


@cache
def _template() -> Template:
    environment = Environment(
        loader=FileSystemLoader(Path(__file__).parent / "templates"),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    environment.filters["sentence"] = _sentence
    environment.filters["unit"] = unit_of
    return environment.get_template("report.html.j2")


@pass_context
def _sentence(context: Context, text: str) -> str:
    return as_sentence(text, context["sweep"].knobs)
