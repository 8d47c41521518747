"""The first screen of the page: the answer, its three numbers, what changes, and its checks."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

import pandas as pd

from orchestrator.analysis.answer.answer import Health, Known, Status
from orchestrator.analysis.recommendation.speedup import Basis
from orchestrator.analysis.report.to_copy import command_of, to_copy
from orchestrator.analysis.report.view import View
from orchestrator.analysis.rule import MAJORITY_SHARE
from orchestrator.analysis.wording import as_sentence, counted, is_share, short, shown
from orchestrator.metrics import is_learned

__all__ = ["command_of", "headline_of", "settings_of"]

_MINUS: Final = "\N{MINUS SIGN}"
_SYMBOLS: Final = {
    Status.CONFIRMED: "✔", Status.TIE: "=", Status.NOT_CONFIRMED: "?",
    Status.NOTHING: "\N{EN DASH}",
    Health.PASS: "✔", Health.WARNING: "!", Health.UNKNOWN: "?",
}  # fmt: skip
_WORDS: Final = {
    Status.CONFIRMED: "good", Status.TIE: "even", Status.NOT_CONFIRMED: "open",
    Status.NOTHING: "none", Health.PASS: "good", Health.WARNING: "bad", Health.UNKNOWN: "open",
}  # fmt: skip
"""Style classes."""


def settings_of(view: View) -> dict[str, list[dict[str, str]]]:
    """Return the recommended settings: ``changed`` from the baseline's, and the ``same``."""
    config = view.recommendation.config
    if config is None:
        return {"changed": [], "same": []}
    changed = {change.knob: change for change in view.answer.changed}
    knobs = {name: knob for name, knob in view.sweep.knobs.items() if name in config}
    return {
        "changed": [
            {
                "name": name,
                "value": short(config[name]),
                "baseline": short(view.sweep.baseline[name]),
                "unit": knobs[name].unit,
                "doc": knobs[name].doc,
            }
            for name in changed
        ],
        "same": [
            {"name": name, "value": short(config[name]), "doc": knob.doc}
            for name, knob in knobs.items()
            if name not in changed
        ],
    }


def headline_of(view: View) -> dict[str, Any]:
    """Return what the first screen says, ready to be shown."""
    answer = view.answer
    return {
        "busy": view.busy,
        "sentence": as_sentence(answer.sentence, view.sweep.knobs),
        "status": str(answer.status),
        "symbol": _SYMBOLS[answer.status],
        "style": _WORDS[answer.status],
        "basis": _basis(view),
        "numbers": [_speedup(view), _accuracy(view), _cost(view)]
        if view.recommendation.config is not None
        else [],
        "figures": _figures(view),
        "checks": [
            {
                "name": check.name,
                "symbol": _SYMBOLS[check.health],
                "style": _WORDS[check.health],
                "health": str(check.health),
                "text": check.text,
            }
            for check in answer.checks
        ],
        "to_copy": to_copy(view),
        "searching": _searching(view),
    }


def _basis(view: View) -> str:
    """Return what the status rests on, in a few words."""
    speedup = view.recommendation.speedup
    if speedup is None or speedup.pairs is None or view.answer.status is not Status.CONFIRMED:
        return ""
    interleaved = "interleaved " if speedup.pairs.interleaved else ""
    pairs = counted(speedup.num_pairs, "pair")
    return f"{pairs} of {interleaved}confirm runs, which did not select"


def _number(label: str, figure: str, *under: str, known: bool = True) -> dict[str, Any]:
    return {"label": label, "figure": figure, "under": [u for u in under if u], "known": known}


def _speedup(view: View) -> dict[str, Any]:
    rule, known = view.rule, view.answer.speedup
    label = "speed-up over the baseline"
    if not rule.is_of_speed:
        label = f"{rule.speed.metric}, times as good as the baseline"
    if known is not None:
        ends = f"95 % interval {known.low:.2f} to {known.high:.2f}"
        return _number(label, f"{known.centre:.2f}\N{MULTIPLICATION SIGN}", ends)
    if _is_baseline(view):
        return _number(label, "none", "the baseline itself is recommended")
    return _number(label, "not known", view.answer.why_not_known, known=False)


def _accuracy(view: View) -> dict[str, Any]:
    recommendation, metric = view.recommendation, view.rule.accuracy.metric
    own, its = (
        figures.get(metric, float("nan"))
        for figures in (recommendation.figures, recommendation.baseline_figures)
    )
    is_baseline = _is_baseline(view)
    label = metric if is_baseline else f"{metric} less the baseline's"
    beside = "" if pd.isna(its) or is_baseline else f", baseline {shown(metric, its)}"
    figures = "" if pd.isna(own) else f"{shown(metric, own)}{beside}"
    if is_baseline and figures:
        return _number(label, figures)
    difference = view.answer.accuracy_difference
    if pd.isna(own):
        return _number(label, "not known", "no run has reported it", known=False)
    if difference is None:
        why = "too few runs, or too different ones, for an interval"
        return _number(label, "not known", why, figures, known=False)
    return _number(label, _signed(metric, difference.centre), _ends(metric, difference), figures)


def _signed(metric: str, value: float) -> str:
    unit = " points" if is_share(metric) else ""
    return f"{_plain(metric, value)}{unit}"


def _ends(metric: str, known: Known) -> str:
    return f"95 % interval {_plain(metric, known.low)} to {_plain(metric, known.high)}"


def _plain(metric: str, value: float) -> str:
    text = f"{100 * value:+.2f}" if is_share(metric) else f"{value:+.3g}"
    return text.replace("-", _MINUS)


def _cost(view: View) -> dict[str, Any]:
    cost = view.answer.cost
    took, saved = cost.get("search_s"), cost.get("saved_s_per_epoch")
    under = []
    if saved is not None:
        text = f"{'saves' if saved >= 0 else 'costs'} {duration(abs(saved))} an epoch"
        pays = cost.get("epochs_to_pay")
        under.append(text + (f": paid back after {max(round(pays), 1):,} epochs" if pays else ""))
    under += [_memory(cost, kind, with_baseline=not _is_baseline(view)) for kind in ("rss", "gpu")]
    if took is None:
        return _number("the trials took", "not known", *under, known=False)
    return _number("the trials took", duration(took), *under)


def _is_baseline(view: View) -> bool:
    speedup = view.recommendation.speedup
    return speedup is not None and speedup.basis is Basis.SAME


def _memory(cost: Mapping[str, float], kind: str, *, with_baseline: bool) -> str:
    own, its = cost.get(f"peak_{kind}_gib"), cost.get(f"baseline_peak_{kind}_gib")
    if own is None:
        return ""
    beside = f", baseline {its:.3g}" if with_baseline and its is not None else ""
    return f"peak memory{' of the GPU' * (kind == 'gpu')} {own:.3g} GiB{beside}"


def duration(seconds: float) -> str:
    """Return ``0.35 s``, ``4 min 37 s`` or ``2 h 5 min``."""
    if seconds < 60:
        return f"{seconds:.2g} s" if seconds < 10 else f"{seconds:.0f} s"
    minutes, rest = divmod(round(seconds), 60)
    if minutes < 60:
        return f"{minutes} min {rest} s" if rest else f"{minutes} min"
    hours, minutes = divmod(minutes, 60)
    return f"{hours} h {minutes} min" if minutes else f"{hours} h"


def _figures(view: View) -> list[dict[str, str]]:
    """Return the recommended config's other figures, with the baseline's."""
    recommendation = view.recommendation
    names = dict.fromkeys(
        (
            *(objective.metric for objective in view.objectives),
            view.rule.accuracy.metric,
            view.rule.test_column.removeprefix("metrics."),
            MAJORITY_SHARE.removeprefix("metrics."),
        )
    )
    return [
        {
            "name": _label(metric, view),
            "value": shown(metric, recommendation.figures[metric]),
            "baseline": "" if pd.isna(its) or _is_baseline(view) else shown(metric, its),
        }
        for metric in names
        if not pd.isna(recommendation.figures.get(metric, float("nan")))
        for its in [recommendation.baseline_figures.get(metric, float("nan"))]
    ]


def _label(metric: str, view: View) -> str:
    """Return the figure's name; with its runs where a speed and an accuracy are of other ones."""
    runs, recommendation = view.recommendation.num_runs, view.recommendation
    kind = "accuracy" if is_learned(metric) else "speed"
    if recommendation.composed and (is_learned(metric) or recommendation.measured_in != "confirm"):
        noun = "curve" if kind == "accuracy" else "probe"
        return f"{metric} (composed, {counted(runs[kind], noun)})"
    return metric if len(set(runs.values())) < 2 else f"{metric} ({counted(runs[kind], 'run')})"


def _searching(view: View) -> str:
    """Return the speed-up of the runs that selected, where a confirmed one stands beside it."""
    speedup = view.recommendation.speedup
    if speedup is None or view.answer.speedup is None or speedup.searching_ratio is None:
        return ""
    return (
        f"in the runs that selected the settings the ratio was {speedup.searching_ratio:.2f}: the "
        "fastest of many looks faster than it is"
    )
