"""The first section of the page: the recommendation in figures and as a command."""

from __future__ import annotations

import shlex
from typing import Any

import pandas as pd

from analysis.recommendation.speedup import Basis, Speedup
from analysis.report.view import View
from analysis.rule import MAJORITY_SHARE, Rule
from analysis.wording import counted, short, shown, telling_knobs
from orchestrator.metrics import is_learned
from orchestrator.space.configs import format_value
from orchestrator.trial import Stage


def settings_of(view: View) -> list[dict[str, str]]:
    """Return the recommended knobs worth naming, with the baseline's value where it differs."""
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


def headline_of(view: View) -> dict[str, Any]:
    """Return the figures that are shown large."""
    recommendation, rule = view.recommendation, view.rule
    speedup = recommendation.speedup
    figures = [
        {"label": _label(metric, view), "text": shown(metric, recommendation.figures[metric])}
        for metric in dict.fromkeys(
            (
                *(objective.metric for objective in view.objectives),
                rule.accuracy.metric,
                rule.test_column.removeprefix("metrics."),
                MAJORITY_SHARE.removeprefix("metrics."),
            )
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
        _than_baseline(rule),
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


def _label(metric: str, view: View) -> str:
    """Return the figure's name; with its runs where a speed and an accuracy are of other ones."""
    runs = view.recommendation.num_runs
    if view.recommendation.composed and is_learned(metric):
        return f"{metric} (composed, {counted(runs['accuracy'], 'curve')})"
    if view.recommendation.composed and view.recommendation.measured_in is Stage.TRAIN:
        return f"{metric} (composed, {counted(runs['speed'], 'probe')})"
    if len(set(runs.values())) < 2:
        return metric
    kind = "accuracy" if is_learned(metric) else "speed"
    return f"{metric} ({counted(runs[kind], 'run')})"


def _than_baseline(rule: Rule) -> str:
    if rule.is_of_speed:
        return "the baseline's speed"
    return f"as good as the baseline in {rule.speed.metric}"


def _basis(speedup: Speedup) -> str:
    """Return what the ratio rests on, with that of the searching runs."""
    if speedup.basis is not Basis.CONFIRM:
        return "searching runs, not confirmed"
    searching = speedup.searching_ratio
    other = "" if searching is None else f"; {searching:.2f}x when searching"
    return f"confirmed{other}"


def command_of(view: View) -> list[str]:
    """Return the command that runs it, in parts that a line is not to be broken within."""
    start = shlex.join(["python", "-m", "orchestrator", str(view.sweep.file)])
    words = view.recommendation.command
    options = [shlex.join(pair) for pair in zip(words[::2], words[1::2], strict=True)]
    return [start, *options]
