"""Figures and knobs as they are written in sentences, tables and commands."""

from __future__ import annotations

from collections.abc import Container, Iterable, Mapping, Sequence
from typing import Any, Final

import pandas as pd

from orchestrator.formats import number, percent
from orchestrator.metric_table import unit_of
from orchestrator.metrics import is_accuracy
from orchestrator.space.configs import format_value
from orchestrator.storage.sweep_record import SweepRecord

MOST_FACTOR: Final = 1.5
"""An interval with ends that differ by this factor or more gives no figure."""

MOST_FACTOR_OF_EFFECT: Final = 4.0
"""The same for a knob's effect: an effect of twice to five times is worth knowing."""


def is_share(metric: str) -> bool:
    """Return True if a metric is a fraction of 1, shown in per cent."""
    return is_accuracy(metric) or metric.endswith(("_util", "_share"))


def less_good(metric: str) -> str:
    """Return the word for a config with a worse figure."""
    return "less accurate" if is_accuracy(metric) else "worse"


def shown(metric: str, value: float) -> str:
    """Return a figure with its unit for a sentence; ``"unknown"`` if there is none."""
    if pd.isna(value):
        return "unknown"
    if is_share(metric) and abs(value) <= 1:
        # Hundredths of a per cent count in an accuracy.
        return percent(value, digits=2 if is_accuracy(metric) else 0)
    if metric == "samples_per_s":
        return f"{number(value)} samples/s"
    unit = unit_of(metric)
    return f"{number(value)} {unit}".rstrip()


def interval_text(row: Mapping[Any, Any], metric: str) -> str:
    """Return ``24,176 to 24,913``: the interval of a figure without its unit, or "".

    An interval with ends that differ by a factor of :data:`MOST_FACTOR` is "not known".
    """
    low, high = (row.get(f"metrics.{metric}_{end}") for end in ("low", "high"))
    if pd.isna(low) or pd.isna(high):
        return ""
    if low > 0 and not high < low * MOST_FACTOR:
        return "not known"
    ends = [percent(e, digits=2) if is_share(metric) else number(e) for e in (low, high)]
    return " to ".join(ends)


def verdict_text(row: Mapping[Any, Any]) -> str:
    """Return ``worse, at 91.2 % of the best (88.0 % to 94.1 %)``, or "" without a verdict.

    If an interval gives no figure, the verdict stands alone.
    """
    verdict, ratio = str(row.get("verdict", "")), row.get("ratio_to_best")
    low, high = (row.get(f"ratio_{end}") for end in ("low", "high"))
    if not verdict or pd.isna(ratio) or verdict == "best":
        return verdict
    if pd.isna(low) or pd.isna(high):
        return f"{verdict}, at {percent(ratio, digits=1)} of the best"
    if not high < low * MOST_FACTOR:
        return verdict
    ends = f"{percent(low, digits=1)} to {percent(high, digits=1)}"
    return f"{verdict}, at {percent(ratio, digits=1)} of the best ({ends})"


def shown_difference(metric: str, value: float) -> str:
    """Return a difference of two figures: in points if they are shown in per cent."""
    return f"{100 * value:g} points" if is_share(metric) else f"{value:g}"


def format_config(config: Mapping[str, Any], sweep: SweepRecord) -> str:
    """Return ``num_workers=3 lr=0.01``: the knobs that vary or differ from the baseline's."""
    names = telling_knobs([config], sweep)
    return " ".join(f"{name}={short(config[name])}" for name in names) or "the only config"


def telling_knobs(configs: Iterable[Mapping[str, Any]], sweep: SweepRecord) -> list[str]:
    """Return the knobs that vary, or that differ from the baseline's in one of the configs."""
    space, baseline = sweep.space, sweep.baseline
    known = list(configs)
    return [
        name
        for name in sweep.knobs
        if name in space or any(_differs(config, baseline, name) for config in known)
    ]


def told_apart(configs: Sequence[Mapping[str, Any]], sweep: SweepRecord) -> list[str]:
    """Return each of several configs by the knobs that are not the same in all of them.

    If the configs differ in nothing, as :func:`format_config` formats them.
    """
    names = [
        name
        for name in sweep.knobs
        if len({short(config[name]) for config in configs if name in config}) > 1
    ]
    return [
        " ".join(f"{name}={short(config[name])}" for name in names) or format_config(config, sweep)
        for config in configs
    ]


def _differs(config: Mapping[str, Any], baseline: Mapping[str, Any], name: str) -> bool:
    if name not in config or name not in baseline:
        return False
    return format_value(config[name]) != format_value(baseline[name])


def short(value: object) -> str:
    """Return a knob's value for display: floats to four significant digits."""
    return f"{value:.4g}" if isinstance(value, float) else format_value(value)


def runs_text(row: Mapping[Any, Any], learned: str) -> str:
    """Return ``3``, or ``2 (accuracy 3)`` if a config's accuracy is over more runs than its speed.

    Args:
        row: From :func:`~orchestrator.analysis.statistics.by_config.by_config`.
        learned: ``accuracy``, or the other figure that was learned.
    """
    timed, trained = row["num_runs"], row["num_all_runs"]
    return f"{timed}" if timed == trained else f"{timed} ({learned} {trained})"


def as_sentence(text: str, knobs: Container[str]) -> str:
    """Return a text with a capital letter and without its full stop.

    Args:
        text: A clause or a heading.
        knobs: Names that keep their spelling at the start.
    """
    first, text = text.split(maxsplit=1)[0:1], text.removesuffix(".")
    return text if first and first[0] in knobs else text[:1].upper() + text[1:]
