"""``report.html``: the figures and tables, put into one page."""

from __future__ import annotations

import json
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

from jinja2 import Environment, FileSystemLoader, StrictUndefined, Template, select_autoescape
from plotly.offline import get_plotlyjs

from analysis.report.headline import command_of, headline_of, settings_of
from analysis.report.sections.ceilings import ceilings_of
from analysis.report.sections.composed import composed_of
from analysis.report.sections.curves import learning_curves
from analysis.report.sections.effects import knob_effects
from analysis.report.sections.environment import environment_of
from analysis.report.sections.published import studies
from analysis.report.sections.scatter import limit_text, num_hidden, scatter
from analysis.report.sections.steps import step_times
from analysis.report.sections.times import times_of
from analysis.report.sections.verdicts import verdicts_of
from analysis.report.states import counts_of_states
from analysis.report.tables import front_table, lost_trials, trials_table
from analysis.report.view import View
from analysis.rule import column_of
from analysis.wording import counted
from orchestrator.metrics import Objective, is_accuracy

if TYPE_CHECKING:
    import plotly.graph_objects as go


def report_html(view: View) -> str:
    """Return the page, self-contained: scripts, styles and figures are in it."""
    figures = {
        **{_picture(view, other): scatter(view, other) for other in _drawn(view)},
        "step-times": step_times(view),
        "learning-curves": learning_curves(view),
    }
    effects = knob_effects(view)
    figures |= {f"effect-{name}": figure for name, figure in effects.items()}
    drawn = {name: figure for name, figure in figures.items() if figure is not None}
    return _template().render(
        sweep=view.sweep,
        data_note=view.sweep.data_note,
        recommendation=view.recommendation,
        settings=settings_of(view),
        headline=headline_of(view),
        command=command_of(view),
        states=_states(view),
        heading=_heading(view),
        pictures={_picture(view, other): _caption(view, other) for other in _drawn(view)},
        composed=composed_of(view),
        front=front_table(view, view.configs),
        others={name: front_table(view, configs) for name, configs in view.others.items()},
        verdicts=verdicts_of(view),
        ceilings=ceilings_of(view),
        times=times_of(view),
        trials=trials_table(view),
        lost=lost_trials(view),
        studies=studies(view),
        effects=effects,
        figures=drawn,
        figures_json=_as_script({name: _plain(figure) for name, figure in drawn.items()}),
        environment=environment_of(view),
        plotly=get_plotlyjs(),
    )


def _drawn(view: View) -> tuple[Objective, ...]:
    return view.beside_speed if len(view.configs) else ()


def _picture(view: View, other: Objective) -> str:
    """Return the name of the picture of the first objective against another one."""
    return "speed-accuracy" if other == view.beside_speed[0] else f"speed-{other.metric}"


def _heading(view: View) -> str:
    first = "speed" if view.rule.is_of_speed else view.rule.speed.metric
    others = ["accuracy" if is_accuracy(o.metric) else o.metric for o in view.beside_speed]
    return f"{first} against {' and '.join(others)}" if others else first


def _upright(view: View, other: Objective) -> list[str]:
    """Return what the upright bars are, where the figure has any."""
    column = f"{column_of(other)}_low"
    if column not in view.configs.columns or view.configs[column].isna().all():
        return []
    return [f"Upright bars are those of {other.metric}, with the spread between seeds in them."]


def _caption(view: View, other: Objective) -> str:
    rule, hidden = view.rule, num_hidden(view, other)
    within = (
        "within the run alone, since nothing was repeated"
        if view.pool is None
        else "with the spread between fresh runs in them"
    )
    edge = ", and the edge of the region that its configs dominate"
    figure = "the speed" if rule.is_of_speed else rule.speed.metric
    less = "less accurate" if is_accuracy(other.metric) else "worse"
    them = f"{less} one is" if hidden == 1 else f"{less} ones are"
    parts = [
        "Each point is a config in the colour of its verdict against the best; bars are 95 % "
        f"intervals of {figure}, {within}.",
        *_upright(view, other),
        f"Blue: the front{edge if rule.directions == (rule.speed, other) else ''}.",
        limit_text(view, other),
        f"{hidden} {them} out of sight; double-click to see them." if hidden else "",
    ]
    return " ".join(part for part in parts if part)


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


def _plain(figure: go.Figure) -> dict[str, Any]:
    plain: dict[str, Any] = json.loads(figure.to_json())
    return plain


def _as_script(content: object) -> str:
    """Return JSON that can stand inside a script element: nothing in it can end the element."""
    return json.dumps(content, separators=(",", ":")).replace("<", "\\u003c")


def _states(view: View) -> str:
    states = [f"{count:,} {words}" for words, count in counts_of_states(view.trials).items()]
    return ": ".join([counted(len(view.trials), "trial"), *([", ".join(states)] if states else [])])
