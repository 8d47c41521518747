"""``report.html``: the figures and tables, put into one page."""

from __future__ import annotations

import json
import shlex
from collections.abc import Mapping
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pandas as pd
from jinja2 import Environment, FileSystemLoader, StrictUndefined, Template, select_autoescape
from plotly.offline import get_plotlyjs

from analysis.recommendation.speedup import Basis, Speedup
from analysis.report.ceilings import ceilings_of
from analysis.report.curves import learning_curves
from analysis.report.effects import knob_effects
from analysis.report.published import studies
from analysis.report.scatter import num_hidden, speed_accuracy
from analysis.report.standing import standing_of
from analysis.report.steps import step_times
from analysis.report.tables import front_table, lost_trials, trials_table, when
from analysis.report.times import times_of
from analysis.report.view import View
from analysis.wording import (
    counted,
    format_value,
    short,
    shown,
    shown_difference,
    telling_knobs,
)

if TYPE_CHECKING:
    import plotly.graph_objects as go


def report_html(view: View) -> str:
    """The page, self-contained: scripts, styles and figures are in it."""
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
        settings=_settings(view),
        headline=_headline(view),
        command=_command(view),
        states=_states(view.trials),
        near=shown_difference(view.rule.accuracy.metric, view.rule.tolerance),
        num_hidden=num_hidden(view),
        unrepeated=view.pool is None,
        front=front_table(view, view.configs),
        others={name: front_table(view, configs) for name, configs in view.others.items()},
        standing=standing_of(view),
        ceilings=ceilings_of(view),
        times=times_of(view),
        trials=trials_table(view),
        lost=lost_trials(view),
        studies=studies(view),
        effects=effects,
        figures=drawn,
        figures_json=_as_script({name: _plain(figure) for name, figure in drawn.items()}),
        environment=_environment(view),
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
    """JSON that can stand inside a script element: nothing in it can end the element."""
    return json.dumps(content, separators=(",", ":")).replace("<", "\\u003c")


def _settings(view: View) -> list[dict[str, str]]:
    """The recommended knobs worth naming, with the baseline's value where it differs."""
    config = view.recommendation.config
    if config is None:
        return []
    baseline = view.sweep.baseline
    return [
        {
            "name": name,
            "value": short(config[name]),
            "baseline": short(baseline[name])
            if name in baseline and format_value(baseline[name]) != format_value(config[name])
            else "",
            "doc": view.sweep.knobs[name].doc,
        }
        for name in telling_knobs([config], view.sweep)
    ]


def _headline(view: View) -> dict[str, Any]:
    """The figures that are shown large."""
    recommendation, rule = view.recommendation, view.rule
    speedup = recommendation.speedup
    figures = [
        {"metric": metric, "text": shown(metric, recommendation.figures[metric])}
        for metric in (
            rule.speed.metric,
            rule.accuracy.metric,
            rule.test_column.removeprefix("metrics."),
        )
        if not pd.isna(recommendation.figures[metric])
    ]
    if speedup is None or speedup.ratio is None:
        return {"ratio": "", "under": ["speed-up not known"], "figures": figures}
    if speedup.basis is Basis.SAME:
        return {"ratio": "", "under": ["the baseline itself"], "figures": figures}
    known = speedup.low is not None
    interval = f"95 % interval {speedup.low:.2f} to {speedup.high:.2f}" if known else "no interval"
    within = recommendation.noise is not None and speedup.is_within(recommendation.noise)
    under = [
        "the baseline's speed",
        _basis(speedup),
        interval,
        *["within the noise"] * within,
        *["within the margin of a tie"] * speedup.is_within_margin,
    ]
    return {
        "ratio": f"{speedup.ratio:.2f}",
        "is_shown": speedup.is_shown,
        "under": under,
        "figures": figures,
    }


def _basis(speedup: Speedup) -> str:
    """Whether the ratio was confirmed, and what the searching runs said beside it."""
    if speedup.basis is not Basis.CONFIRM:
        return "searching runs, not confirmed"
    searching = speedup.searching_ratio
    beside = "" if searching is None else f"; {searching:.2f}x when searching"
    return f"confirmed{beside}"


def _command(view: View) -> list[str]:
    """The command that runs it, in parts that a line is not to be broken within."""
    start = shlex.join(["python", "-m", "orchestrator", str(view.sweep.file)])
    words = view.recommendation.command
    options = [shlex.join(pair) for pair in zip(words[::2], words[1::2], strict=True)]
    return [start, *options]


def _states(trials: pd.DataFrame) -> str:
    counts = trials["state"].value_counts()
    states = [f"{count:,} {str(state).replace('_', ' ')}" for state, count in counts.items()]
    return ": ".join([counted(len(trials), "trial"), *([", ".join(states)] if states else [])])


def _environment(view: View) -> list[tuple[str, str]]:
    """What was run, on what, as pairs of a name and a value."""
    sweep = view.sweep
    git = sweep.git or {}
    dirty = " with uncommitted changes" if git.get("dirty") else ""
    budget = {"epochs": sweep.budget.epochs, "steps": sweep.budget.steps}
    pairs = {
        "command": shlex.join(map(str, sweep.command_line)),
        "started": when(sweep.started_at),
        "git commit": f"{git.get('commit') or 'none'}{dirty}",
        "data": sweep.data,
        "data fingerprint": sweep.data_fingerprint,
        "budget of a trial": ", ".join(f"{v} {k}" for k, v in budget.items() if v is not None),
        "search": sweep.search,
        "seed": sweep.seed,
        "repeats": _up_to(sweep.repeats, sweep.max_repeats),
        "confirm runs": _up_to(sweep.confirm, sweep.max_confirm),
        "cores per trial": sweep.cores_per_trial,
        "isolation": sweep.isolation,
        **_flat("", sweep.hardware),
        **_flat("node ", sweep.nodes),
        "versions": ", ".join(f"{k} {v}" for k, v in (sweep.versions).items()),
        "fixed knobs": " ".join(f"{k}={short(v)}" for k, v in (sweep.fixed).items()),
        "baseline": " ".join(f"{k}={short(v)}" for k, v in sweep.baseline.items()),
        "rule": view.rule.text,
    }
    return [(name, str(value)) for name, value in pairs.items() if value not in (None, "")]


def _up_to(planned: int, most: int) -> str:
    """``3, up to 12``: a number of runs, and the most that it may be extended to."""
    return f"{planned}, up to {most}" if planned and most > planned else f"{planned}"


def _flat(prefix: str, tree: Mapping[str, Any]) -> dict[str, str]:
    """``{"cpu model": ...}`` from a mapping that may hold others."""
    flat: dict[str, str] = {}
    for key, value in tree.items():
        name = f"{prefix}{key}".replace("_", " ")
        if isinstance(value, Mapping):
            flat |= _flat(f"{name} ", value)
        elif isinstance(value, list):
            flat[name] = ", ".join(map(str, value)) or "none"
        else:
            flat[name] = f"{value:.4g}" if isinstance(value, float) else str(value)
    return flat
