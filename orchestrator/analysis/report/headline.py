"""The first screen of the page: the answer, its three numbers, what changes, and its checks."""

from __future__ import annotations

from typing import Any, Final

import pandas as pd

from orchestrator.analysis.findings.codes import Health, Status
from orchestrator.analysis.findings.findings import Findings
from orchestrator.analysis.findings.reasons import pairs_of
from orchestrator.analysis.report.to_copy import command_of, to_copy
from orchestrator.analysis.report.view import View
from orchestrator.analysis.wording import as_sentence, counted, is_share, short, shown
from orchestrator.formats import duration
from orchestrator.metrics import is_learned
from orchestrator.trial import Stage

__all__ = ["command_of", "headline_of", "settings_of"]

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
    config = view.findings.config
    if config is None:
        return {"changed": [], "same": []}
    changed = [change.knob for change in view.findings.changes]
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
    found = view.findings
    return {
        "busy": found.busy,
        "sentence": as_sentence(found.sentence, view.sweep.knobs),
        "status": str(found.status),
        "symbol": _SYMBOLS[found.status],
        "style": _WORDS[found.status],
        "basis": _basis(found),
        "numbers": [_speedup(found), _accuracy(found), _cost(found)]
        if found.config is not None
        else [],
        "figures": _figures(found),
        "checks": [
            {
                "name": check.name,
                "symbol": _SYMBOLS[check.health],
                "style": _WORDS[check.health],
                "health": str(check.health),
                "text": check.text,
            }
            for check in found.checks
        ],
        "to_copy": to_copy(view),
        "searching": _searching(found),
        "why": found.why.text,
        "how_sure": found.how_sure,
        "notes": found.notes,
    }


def _basis(found: Findings) -> str:
    """Return what the status rests on, in a few words."""
    speedup = found.speedup
    if speedup is None or speedup.pairs is None or found.status is not Status.CONFIRMED:
        return ""
    return f"{pairs_of(speedup.pairs)}, which did not select"


def _number(label: str, figure: str, *under: str, known: bool = True) -> dict[str, Any]:
    return {"label": label, "figure": figure, "under": [u for u in under if u], "known": known}


def _speedup(found: Findings) -> dict[str, Any]:
    rule, known = found.rule, found.known_speedup
    label = "speed-up over the baseline"
    if not rule.is_of_speed:
        label = f"{rule.speed.metric}, times as good as the baseline"
    if known is not None:
        ends = f"95 % interval {known.low:.2f} to {known.high:.2f}"
        return _number(label, f"{known.ratio:.2f}\N{MULTIPLICATION SIGN}", ends)
    if found.is_baseline:
        return _number(label, "none", "the baseline itself is recommended")
    return _number(label, "not known", found.why_not_known, known=False)


def _accuracy(found: Findings) -> dict[str, Any]:
    metric, difference = found.rule.accuracy.metric, found.difference
    own, its = (figures[metric] for figures in (found.figures, found.baseline_figures))
    label = metric if found.is_baseline else f"{metric} less the baseline's"
    if pd.isna(own):
        return _number(label, "not known", "no run has reported it", known=False)
    if found.is_baseline:
        return _number(label, shown(metric, own))
    beside = "" if pd.isna(its) else f", baseline {shown(metric, its)}"
    figures = f"{shown(metric, own)}{beside}"
    if difference is None:
        why = "too few runs, or too different ones, for an interval"
        return _number(label, "not known", why, figures, known=False)
    unit = " points" if is_share(metric) else ""
    low, centre, high = (
        _signed(metric, value) for value in (difference.low, difference.centre, difference.high)
    )
    return _number(label, f"{centre}{unit}", f"95 % interval {low} to {high}", figures)


def _signed(metric: str, value: float) -> str:
    text = f"{100 * value:+.2f}" if is_share(metric) else f"{value:+.3g}"
    return text.replace("-", "\N{MINUS SIGN}")


def _cost(found: Findings) -> dict[str, Any]:
    cost = found.cost
    took, saved = cost.get("search_s"), cost.get("saved_s_per_epoch")
    under = []
    if saved is not None:
        text = f"{'saves' if saved >= 0 else 'costs'} {duration(abs(saved))} an epoch"
        pays = cost.get("epochs_to_pay")
        under.append(text + (f": paid back after {max(round(pays), 1):,} epochs" if pays else ""))
    under += [_memory(found, kind) for kind in ("rss", "gpu")]
    if took is None:
        return _number("the trials took", "not known", *under, known=False)
    return _number("the trials took", duration(took), *under)


def _memory(found: Findings, kind: str) -> str:
    own, its = (found.cost.get(f"{whose}peak_{kind}_gib") for whose in ("", "baseline_"))
    if own is None:
        return ""
    beside = f", baseline {its:.3g}" if its is not None and not found.is_baseline else ""
    return f"peak memory{' of the GPU' * (kind == 'gpu')} {own:.3g} GiB{beside}"


def _figures(found: Findings) -> list[dict[str, str]]:
    """Return the recommended config's other figures, with the baseline's."""
    return [
        {
            "name": _label(metric, found),
            "value": shown(metric, value),
            "baseline": "" if pd.isna(its) or found.is_baseline else shown(metric, its),
        }
        for metric, value in found.figures.items()
        if pd.notna(value) and not metric.endswith(("_low", "_high"))
        for its in [found.baseline_figures[metric]]
    ]


def _label(metric: str, found: Findings) -> str:
    """Return the figure's name; with its runs where a speed and an accuracy are of other ones."""
    runs, kind = found.num_runs, "accuracy" if is_learned(metric) else "speed"
    if found.composed and (is_learned(metric) or found.measured_in is not Stage.CONFIRM):
        noun = "curve" if kind == "accuracy" else "probe"
        return f"{metric} (composed, {counted(runs[kind], noun)})"
    return metric if len(set(runs.values())) < 2 else f"{metric} ({counted(runs[kind], 'run')})"


def _searching(found: Findings) -> str:
    """Return the speed-up of the runs that selected, where a confirmed one stands beside it."""
    known = found.known_speedup
    if known is None or known.searching_ratio is None:
        return ""
    return (
        f"in the runs that selected the settings the ratio was {known.searching_ratio:.2f}: the "
        "fastest of many looks faster than it is"
    )
