"""``report.html``: the figures and tables, put into one page."""

from __future__ import annotations

import json
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

from jinja2 import Environment, FileSystemLoader, StrictUndefined, Template, select_autoescape
from plotly.offline import get_plotlyjs

from analysis.report.ceilings import ceilings_of
from analysis.report.curves import learning_curves
from analysis.report.effects import knob_effects
from analysis.report.environment import environment_of
from analysis.report.headline import command_of, headline_of, settings_of
from analysis.report.published import studies
from analysis.report.scatter import num_hidden, speed_accuracy
from analysis.report.steps import step_times
from analysis.report.tables import front_table, lost_trials, trials_table
from analysis.report.times import times_of
from analysis.report.verdicts import verdicts_of
from analysis.report.view import View
from analysis.wording import counted, shown_difference

if TYPE_CHECKING:
    import plotly.graph_objects as go


def report_html(view: View) -> str:
    """Return the page, self-contained: scripts, styles and figures are in it."""
    figures = {
        "speed-accuracy": speed_accuracy(view) if len(view.configs) else None,
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
        tolerance=shown_difference(view.rule.accuracy.metric, view.rule.tolerance),
        num_hidden=num_hidden(view),
        unrepeated=view.pool is None,
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
    counts = view.trials["state"].value_counts()
    states = [f"{count:,} {str(state).replace('_', ' ')}" for state, count in counts.items()]
    return ": ".join([counted(len(view.trials), "trial"), *([", ".join(states)] if states else [])])
