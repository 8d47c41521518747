"""Figures, knobs and the rule as they are written in sentences, tables and commands."""

import math
from collections.abc import Container, Iterable, Mapping
from typing import Any, Final

import pandas as pd

from orchestrator.analysis.rule import Rule
from orchestrator.formats import number, percent
from orchestrator.metric_table import unit_of
from orchestrator.metrics import Goal, Objective, is_accuracy
from orchestrator.rules import RuleKind
from orchestrator.space.configs import changed_knobs, format_value
from orchestrator.storage.sweep_record import SweepRecord

MOST_FACTOR: Final = 1.5
"""An interval with ends that differ by this factor or more gives no figure."""

MOST_FACTOR_OF_EFFECT: Final = 4.0
"""The same for a knob's effect: an effect of twice to five times is worth knowing."""


def is_share(metric: str) -> bool:
    """Return True if a metric is a fraction of 1, shown in per cent."""
    return is_accuracy(metric) or metric.endswith(("_util", "_share"))


def shown(metric: str, value: float) -> str:
    """Return a figure with its unit for a sentence; ``"unknown"`` if there is none."""
    if pd.isna(value):
        return "unknown"
    if is_share(metric) and abs(value) <= 1:
        # Hundredths of a per cent count in an accuracy.
        return percent(value, digits=2 if is_accuracy(metric) else 0)
    if metric == "samples_per_s":
        return f"{number(value)} samples/s"
    return f"{number(value)} {unit_of(metric)}".rstrip()


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


def ratio_text(row: Mapping[Any, Any]) -> str:
    """Return a config's ratio to the best, ``0.912 (0.880 to 0.941)``, or "" without a figure."""
    ratio, low, high = (row.get(f"ratio_{end}", math.nan) for end in ("to_best", "low", "high"))
    if pd.isna(ratio) or (pd.notna(low) and not high < low * MOST_FACTOR):
        return ""
    return f"{ratio:.3f}" + (f" ({low:.3f} to {high:.3f})" if low < high else "")


def shown_difference(metric: str, value: float) -> str:
    """Return a difference of two figures: in points if they are shown in per cent."""
    if not is_share(metric):
        return f"{value:g}"
    points = f"{100 * value:g}"
    return f"{points} point{'s' * (points != '1')}"


def signed(metric: str, value: float) -> str:
    """Return a difference with its sign and without its unit: ``+0.35`` points, ``-0.12``."""
    return f"{100 * value:+.2f}" if is_share(metric) else f"{value:+.3g}"


def format_config(config: Mapping[str, Any], sweep: SweepRecord) -> str:
    """Return ``num_workers=3 lr=0.01``: the knobs that vary or differ from the baseline's."""
    names = telling_knobs([config], sweep)
    return " ".join(f"{name}={short(config[name])}" for name in names) or "the only config"


def telling_knobs(configs: Iterable[Mapping[str, Any]], sweep: SweepRecord) -> list[str]:
    """Return the knobs that vary, or that differ from the baseline's in one of the configs."""
    fixed = {name: value for name, value in sweep.baseline.items() if name not in sweep.space}
    telling = set(sweep.space).union(*(changed_knobs(config, fixed) for config in configs))
    return [name for name in sweep.knobs if name in telling]


def short(value: object) -> str:
    """Return a knob's value for display: floats to four significant digits."""
    return f"{value:.4g}" if isinstance(value, float) else format_value(value)


def as_sentence(text: str, knobs: Container[str]) -> str:
    """Return a text with a capital letter and without its full stop.

    Args:
        text: A clause or a heading.
        knobs: Names that keep their spelling at the start.
    """
    first, text = text.split(maxsplit=1)[0:1], text.removesuffix(".")
    return text if first and first[0] in knobs else text[:1].upper() + text[1:]


# -- the rule of a sweep


def rule_text(rule: Rule) -> str:
    """Return the rule in words."""
    among = f"; among the configs{_whose(rule)}" if rule.conditions else ""
    match rule.how.kind:
        case RuleKind.KNEE:
            names = ", ".join(objective.metric for objective in rule.directions)
            return (
                f"the knee of the front of {names}: the config farthest beyond the line or plane "
                f"of its ends, each objective scaled to the front's range{among}"
            )
        case RuleKind.WEIGHTED:
            weights = ", ".join(f"{name} {short(w)}" for name, w in rule.how.weights.items())
            return (
                "the config with the largest weighted sum of its figures, each by how far it is "
                f"short of the best as a share of it; weights: {weights}{among}"
            )
        case RuleKind.FUNCTION:
            return f"what the sweep's function {rule.how.name} returns{among}"
    fastest = "least costly" if rule.speed.goal is Goal.MINIMIZE else rule.fast[2]
    return (
        f"the {fastest} config by {rule.speed.metric}{_whose(rule)}; of those as "
        f"{rule.fast[0]} within {percent(rule.tie_margin)}, the cheapest"
    )


def condition_text(objective: Objective) -> str:
    """Return ``val_acc is within 0.5 points of the best``, ``peak_rss_gib is at most 20 GiB``."""
    metric = objective.metric
    if objective.bound is not None:
        most = "at most" if objective.goal is Goal.MINIMIZE else "at least"
        return f"{metric} is {most} {shown(metric, objective.bound)}"
    tolerance = objective.tolerance or 0.0
    near = f"{100 * tolerance:.4g} %" if objective.relative else shown_difference(metric, tolerance)
    return f"{metric} is within {near} of the best"


def lacking(rule: Rule) -> str:
    """Return the word for configs that do not meet the rule's conditions."""
    names = [objective.metric for objective in rule.conditions]
    is_accurate = is_accuracy(rule.accuracy.metric) and rule.accuracy.goal is Goal.MAXIMIZE
    if names == [rule.accuracy.metric] and is_accurate:
        return "not accurate enough"
    return f"short of the rule in {' or '.join(names)}" if names else "without a figure"


def learned_word(rule: Rule) -> str:
    """Return ``accuracy``, or the metric that the rule uses instead."""
    return "accuracy" if is_accuracy(rule.accuracy.metric) else rule.accuracy.metric


def _whose(rule: Rule) -> str:
    """Return the conditions; each later tolerance is among the configs that meet those before."""
    words = ""
    for objective in rule.conditions:
        of_these = "" if objective.bound is not None else ", of these,"
        words += f"{f' and{of_these}' if words else ''} whose {condition_text(objective)}"
    return words


def states_text(rows: pd.DataFrame) -> str:
    """Return ``2 infeasible, 1 failed``."""
    return ", ".join(f"{num} {state}" for state, num in rows["state"].value_counts().items())
