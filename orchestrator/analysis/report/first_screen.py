"""The first screen of the page: the answer, its three numbers, what changes, and its checks."""

import json
import shlex
from collections.abc import Iterator
from typing import Any, Final, NamedTuple

import pandas as pd

from orchestrator.analysis.findings.findings import Findings
from orchestrator.analysis.report.tables import measured
from orchestrator.analysis.report.view import View
from orchestrator.analysis.wording import as_sentence, is_share, short, shown, signed
from orchestrator.arguments import command
from orchestrator.formats import duration
from orchestrator.trial import Stage

_NOT_KNOWN: Final = "not known"


class Number(NamedTuple):
    """One of the numbers: its name, the figure, lines under it."""

    label: str
    figure: str
    under: tuple[str, ...] = ()


def first_screen(view: View) -> dict[str, Any]:
    """Return the content of the first screen, without the findings themselves."""
    found, sweep = view.findings, view.sweep
    config = found.config or {}
    changed = [change.knob for change in found.changes]
    return {
        "found": found,
        "sentence": as_sentence(found.sentence, sweep.knobs),
        "basis": f"{found.shown_by}, which did not select" if found.shown_by else "",
        "numbers": numbers_of(found) if config else [],
        "before_and_after": tuple(before_and_after(view)),
        "figures": figures_of(found),
        "changed": [
            (sweep.knobs[name], name, short(config[name]), short(sweep.baseline[name]))
            for name in changed
        ],
        "same": [
            (knob, name, short(config[name]))
            for name, knob in sweep.knobs.items()
            if name in config and name not in changed
        ],
        "to_copy": to_copy(view),
    }


def before_and_after(view: View) -> Iterator[str]:
    """Yield the baseline's speed and seconds an epoch, and those of the recommended config."""
    configs = view.configs if view.findings.measured_in is Stage.TRAIN else view.shown
    rows = [configs[configs[f"is_{which}"]].head(1) for which in ("baseline", "recommended")]
    for metric, per in ((view.rule.speed.metric, ""), ("epoch_s", " an epoch")):
        if all(measured(row, [metric]) for row in rows):
            ends = [shown(metric, row[f"metrics.{metric}"].iloc[0]) for row in rows]
            yield " \N{RIGHTWARDS ARROW} ".join(dict.fromkeys(ends)) + per


def numbers_of(found: Findings) -> list[Number]:
    """Return the speed-up, the difference in accuracy, each further objective, and the cost."""
    others = []
    for metric in (objective.metric for objective in found.tables.rule.others):
        own, its = (figures[metric] for figures in (found.figures, found.baseline_figures))
        under = () if pd.isna(its) or found.is_baseline else (f"baseline {shown(metric, its)}",)
        others.append(Number(metric, _NOT_KNOWN if pd.isna(own) else shown(metric, own), under))
    return [_speedup(found), _accuracy(found), *others, _cost(found)]


def _speedup(found: Findings) -> Number:
    rule, known = found.tables.rule, found.known_speedup
    label = "speed-up over the baseline"
    if not rule.is_of_speed:
        label = f"{rule.speed.metric}, times as good as the baseline"
    if known is not None:
        ends = f"95 % interval {known.low:.2f} to {known.high:.2f}"
        return Number(label, f"{known.ratio:.2f}\N{MULTIPLICATION SIGN}", (ends,))
    if found.is_baseline:
        return Number(label, "none", ("the baseline itself is recommended",))
    return Number(label, _NOT_KNOWN, (found.why_not_known,))


def _accuracy(found: Findings) -> Number:
    metric, difference = found.tables.rule.accuracy.metric, found.difference
    own, its = (figures[metric] for figures in (found.figures, found.baseline_figures))
    label = metric if found.is_baseline else f"{metric} less the baseline's"
    if pd.isna(own):
        return Number(label, _NOT_KNOWN, ("no run has reported it",))
    if found.is_baseline:
        return Number(label, shown(metric, own))
    figures = shown(metric, own) + ("" if pd.isna(its) else f", baseline {shown(metric, its)}")
    if difference is None:
        why = "too few runs, or too different ones, for an interval"
        return Number(label, _NOT_KNOWN, (why, figures))
    low, centre, high = (
        signed(metric, value).replace("-", "\N{MINUS SIGN}")
        for value in (difference.low, difference.centre, difference.high)
    )
    unit = " points" if is_share(metric) else ""
    return Number(label, f"{centre}{unit}", (f"95 % interval {low} to {high}", figures))


def _cost(found: Findings) -> Number:
    cost, under = found.cost, list[str]()
    saved = cost.get("saved_s_per_epoch")
    if saved is not None:
        text = f"{'saves' if saved >= 0 else 'costs'} {duration(abs(saved))} an epoch"
        pays = cost.get("epochs_to_pay")
        under.append(text + (f": paid back after {max(round(pays), 1):,} epochs" if pays else ""))
    for kind, of in (("rss", ""), ("gpu", " of the GPU")):
        own, its = (cost.get(f"{whose}peak_{kind}_gib") for whose in ("", "baseline_"))
        if own is not None:
            beside = f", baseline {its:.3g}" if its is not None and not found.is_baseline else ""
            under.append(f"peak memory{of} {own:.3g} GiB{beside}")
    took = cost.get("search_s")
    return Number("the trials took", _NOT_KNOWN if took is None else duration(took), tuple(under))


def figures_of(found: Findings) -> list[tuple[str, str, str]]:
    """Return the recommended config's figures, the speed first: name, value, the baseline's."""
    figures = []
    for metric, value in found.figures.items():
        if pd.notna(value) and not metric.endswith(("_low", "_high")):
            its = found.baseline_figures[metric]
            text = "" if pd.isna(its) or found.is_baseline else shown(metric, its)
            runs = found.runs_of(metric)
            name = f"{metric} ({runs})" if runs else metric
            figures.append((name, shown(metric, value), text))
    return figures


def to_copy(view: View) -> dict[str, tuple[str, ...]]:
    """Return the recommended settings in every form by its name; {} if nothing is recommended.

    Each is a text in parts; no line break falls within a part.
    """
    config, sweep = view.findings.config, view.sweep
    if config is None:
        return {}
    run_dir = shlex.quote("RUN_DIR" if view.run_dir is None else str(view.run_dir))
    again = command(shlex.quote(str(sweep.file)))
    words = iter(view.findings.command)
    options = [shlex.join(pair) for pair in zip(words, words, strict=True)]
    return {
        "To train with these settings and keep the weights": (
            command("train"), run_dir, "--save model.pt",
        ),
        "JSON": (json.dumps(config),),
        "Python": (f"config = {config!r}",),
        "A sweep of these settings alone, measured as the run was": (again, *options),
    }  # fmt: skip
