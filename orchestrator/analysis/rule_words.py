"""The rule of a sweep in words, from the names and units of its objectives."""

from __future__ import annotations

from orchestrator.analysis.rule import Rule
from orchestrator.analysis.wording import short, shown, shown_difference
from orchestrator.formats import percent
from orchestrator.metrics import Goal, Objective, is_accuracy
from orchestrator.rules import RuleKind


def rule_text(rule: Rule) -> str:
    """Return the rule in words."""
    match rule.how.kind:
        case RuleKind.KNEE:
            return (
                f"the knee of the front of {_names(rule)}: the config farthest beyond the "
                f"{'plane through' if len(rule.directions) > 2 else 'line between'} its ends, "
                f"each objective scaled to the front's range{_of_those(rule)}"
            )
        case RuleKind.WEIGHTED:
            weights = ", ".join(f"{name} {short(w)}" for name, w in rule.how.weights.items())
            return (
                "the config with the largest weighted sum of its figures, each by how far it is "
                f"short of the best as a share of it; weights: {weights}{_of_those(rule)}"
            )
        case RuleKind.FUNCTION:
            return f"what the sweep's function {rule.how.name} returns{_of_those(rule)}"
    return (
        f"the {_fastest(rule)} config by {rule.speed.metric}{_whose(rule)}; of those as "
        f"{rule.fast[0]} within {percent(rule.tie_margin)}, the cheapest"
    )


def condition_text(objective: Objective) -> str:
    """Return ``val_acc is within 0.5 points of the best``, ``peak_rss_gib is at most 20 GiB``."""
    metric = objective.metric
    if objective.bound is not None:
        most = "at most" if objective.goal is Goal.MINIMIZE else "at least"
        return f"{metric} is {most} {shown(metric, objective.bound)}"
    return f"{metric} is within {tolerance_text(objective)} of the best"


def tolerance_text(objective: Objective) -> str:
    """Return ``0.5 points`` or ``2 %``."""
    tolerance = objective.tolerance or 0.0
    if objective.relative:
        return f"{100 * tolerance:.4g} %"
    return shown_difference(objective.metric, tolerance)


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


def held_by(rule: Rule) -> str:
    """Return the word for configs that meet the rule's conditions."""
    return "accurate enough" if lacking(rule) == "not accurate enough" else "good enough"


def times_baseline(rule: Rule, ratio: str) -> str:
    """Return ``1.26x the baseline's speed``, or similar words for a figure that is no speed."""
    if rule.is_of_speed:
        return f"{ratio}x the baseline's speed"
    return f"{ratio}x as good as the baseline in {rule.speed.metric}"


def _fastest(rule: Rule) -> str:
    return "least costly" if rule.speed.goal is Goal.MINIMIZE else rule.fast[2]


def _whose(rule: Rule) -> str:
    """Return the conditions; each later tolerance is among the configs that meet those before."""
    words = ""
    for objective in rule.conditions:
        of_these = "" if objective.bound is not None else ", of these,"
        words += f"{f' and{of_these}' if words else ''} whose {condition_text(objective)}"
    return words


def _of_those(rule: Rule) -> str:
    return f"; among the configs{_whose(rule)}" if rule.conditions else ""


def _names(rule: Rule) -> str:
    *names, last = (objective.metric for objective in rule.directions)
    return f"{', '.join(names)} and {last}" if names else last
