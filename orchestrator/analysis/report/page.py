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
from orchestrator.analysis.report.sections.composed import composed_notes, composed_of
from orchestrator.analysis.report.sections.curves import curves_of
from orchestrator.analysis.report.sections.environment import environment_of
from orchestrator.analysis.report.sections.infeasible import walls_of
from orchestrator.analysis.report.sections.knobs.effects import effects_of
from orchestrator.analysis.report.sections.knobs.importance import importance_of
from orchestrator.analysis.report.sections.knobs.interactions import interactions_of
from orchestrator.analysis.report.sections.knobs.ladder import ladder_of
from orchestrator.analysis.report.sections.published import studies
from orchestrator.analysis.report.sections.scatter import scatter_figures
from orchestrator.analysis.report.sections.section import Section, figures_of, tables_of_sections
from orchestrator.analysis.report.sections.steps import steps_of
from orchestrator.analysis.report.sections.times import times_of
from orchestrator.analysis.report.sections.trials import counts_of_states, lost_trials, trials_table
from orchestrator.analysis.report.sections.verdicts import verdicts_of
from orchestrator.analysis.report.style import DARK
from orchestrator.analysis.report.tables import front_table
from orchestrator.analysis.report.view import View
from orchestrator.analysis.wording import as_sentence
from orchestrator.formats import counted
from orchestrator.metric_table import unit_of
from orchestrator.metrics import is_accuracy


def sections_of(view: View) -> tuple[Section, ...]:
    """Return what the run tells of its knobs, its steps and its curves; each knob comes first.

    Where no config completed one sentence stands for all of them.
    """
    if view.all_configs.empty:
        nothing = "no config completed: nothing can be said of knobs, steps and curves"
        return (Section(name="effects", title="What each knob does", missing=nothing),)
    effects = effects_of(view)
    together = () if effects.missing else (interactions_of(view), importance_of(view))
    sections = (
        effects,
        ladder_of(view),
        *together,
        curves_of(view),
        times_of(view),
        steps_of(view),
        ceilings_of(view),
    )
    return tuple(section for section in sections if section is not None)


@dataclass(frozen=True, kw_only=True)
class Report:
    """The page with its pictures of the front, and its tables by name, for files beside it."""

    html: str
    pictures: tuple[Figure, ...]
    tables: dict[str, pd.DataFrame]


def report_of(view: View) -> Report:
    """Return the page, self-contained (scripts, styles, figures), and the tables that it shows."""
    parts, walls = sections_of(view), walls_of(view)
    pictures = {figure.name: figure for figure in scatter_figures(view)}
    figures = pictures | figures_of((*parts, walls))
    front = front_table(view, view.shown)
    against = _there(verdicts_of(view), composed_of(view))
    tables = {"front": front} | tables_of_sections((*parts, *against))
    html = _template().render(
        sweep=view.sweep,
        data_note=view.sweep.data_note,
        settings=settings_of(view),
        headline=headline_of(view),
        command=command_of(view),
        states=_states(view),
        heading=_heading(view),
        pictures=list(pictures),
        front_notes=composed_notes(view),
        front=front,
        against=(*against, *_others(view)),
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
    tables_by_name = tables_of(figures.values()) | frames
    return Report(html=html, pictures=tuple(pictures.values()), tables=tables_by_name)


def _there(*sections: Section | None) -> tuple[Section, ...]:
    return tuple(section for section in sections if section is not None)


def _others(view: View) -> tuple[Section, ...]:
    """Return the front of each group of trials that is not ranked with the main one."""
    if not view.others:
        return ()
    why = (
        "these trials ran on hardware, devices or versions that differ from those above. Their "
        "speeds are not ranked with the others, and nothing is recommended from them"
    )
    return (
        Section(name="others", title="Under other conditions", lines=(why,)),
        *(
            Section(name=f"others-{n}", title=name, level=3, table=front_table(view, configs))
            for n, (name, configs) in enumerate(view.others.items(), start=1)
        ),
    )


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
    environment.filters["unit"] = unit_of
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
