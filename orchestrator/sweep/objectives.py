"""Checks of a sweep's objectives, its rule and stopping, and what these rest on."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import product
from typing import Any, Final

from orchestrator.errors import nearest
from orchestrator.field_types import shown, wrong_fields
from orchestrator.metric_table import DERIVED, METRICS
from orchestrator.metrics import Goal, Objective, is_accuracy
from orchestrator.rules import RuleKind, SelectionRule
from orchestrator.space.configs import knobs_of
from orchestrator.sweep.definition import Sweep
from orchestrator.trainable import Trainable

Finding = tuple[str, str, str]
"""A field of the sweep, what is wrong with it, and what is allowed."""

MAX_OBJECTIVES: Final = 3
PRICES: Final = ("cpu_hour", "gpu_hour")

OBJECTIVES_ALLOWED: Final = (
    f"one to {MAX_OBJECTIVES} of maximize(...), minimize(...), at_least(...) and at_most(...): "
    "what is to be faster, then what that must not cost"
)
RULE_ALLOWED: Final = (
    "fastest_within(...), knee(), weighted(...), or a function of the table of configs"
)
TARGET_ALLOWED: Final = "a fraction of 1, at_least(...), or maximize(..., tolerance=...)"
_INFINITE: Final = float("inf")


def known_metrics(trainable: Trainable[Any]) -> list[str]:
    """Return the metrics that a trial of ``trainable`` can be judged by: measured or reported."""
    return [*METRICS, *(o.metric for o in trainable.reports if o.metric not in METRICS)]


def objective_findings(sweep: Sweep[Any]) -> Iterator[Finding]:
    """Yield everything that is wrong with the objectives."""
    objectives, allowed = sweep.objectives, f"allowed: {OBJECTIVES_ALLOWED}"
    if not 1 <= len(objectives) <= MAX_OBJECTIVES:
        yield "objectives", f" has {len(objectives)} entries", allowed
    for position, objective in enumerate(objectives):
        yield from _of_objective("objectives", objective, sweep)
        if any(_is_the_same(objective, before) for before in objectives[:position]):
            yield "objectives", f": {shown(objective.metric)} is named twice", allowed
    bounds = [each for each in objectives if each.bound is not None]
    for low, high in product(bounds, repeat=2):
        is_pair = (low.goal, high.goal) == (Goal.MAXIMIZE, Goal.MINIMIZE)
        least, most = low.bound or 0.0, high.bound or 0.0
        if is_pair and low.metric == high.metric and least > most:
            text = f": {shown(low.metric)} is to be at least {least:g} and at most {most:g}"
            yield "objectives", text, "allowed: bounds with a value between them"
    if objectives and len(bounds) == len(objectives):
        text = " has conditions alone, and nothing to improve"
        yield "objectives", text, "allowed: at least one of maximize(...) and minimize(...)"


def _is_the_same(objective: Objective, before: Objective) -> bool:
    """Return True for what was stated before, in whichever direction."""
    is_goal = objective.bound is None and before.bound is None
    return before == objective or (is_goal and before.metric == objective.metric)


def _of_objective(field: str, objective: Objective, sweep: Sweep[Any]) -> Iterator[Finding]:
    known, metric = known_metrics(sweep.trainable), objective.metric
    if wrong_fields(objective):
        return  # it has refused itself
    if metric not in known:
        text = f": unknown metric {metric!r}{nearest(metric, known)}"
        yield field, text, f"allowed: {', '.join(known)}"
    if metric.startswith("test_"):
        text = f": {metric!r} would select by the test split"
        yield field, text, "allowed: validation metrics; test is reported once"
    bound, tolerance = objective.bound, objective.tolerance
    if bound is not None and not -_INFINITE < bound < _INFINITE:
        yield field, f": {metric}: bound = {shown(bound)} is not allowed", "allowed: a number"
    elif bound is not None and is_accuracy(metric) and not 0 <= bound <= 1:
        text = f": {metric}: bound = {shown(bound)} is not allowed"
        yield field, text, "allowed: a fraction of 1, so 0.97 for 97 %"
    most = 1.0 if objective.relative or is_accuracy(metric) else _INFINITE
    if tolerance is not None and not 0 <= tolerance < most:
        limit = "a fraction of 1, >= 0 and < 1" if most == 1 else "a number >= 0"
        text = f": {metric}: tolerance = {shown(tolerance)} is not allowed"
        yield field, text, f"allowed: {limit}"


def rule_findings(sweep: Sweep[Any]) -> Iterator[Finding]:
    """Yield everything that is wrong with the rule."""
    rule, metrics = sweep.rule, [objective.metric for objective in sweep.objectives]
    if not isinstance(rule, SelectionRule):
        if getattr(rule, "__module__", "") == SelectionRule.__module__:
            name = getattr(rule, "__name__", "")
            text = f" = {name} is not allowed"
            yield "rule", text, f"allowed: {RULE_ALLOWED}; {name} is to be called: {name}(...)"
        return
    for metric in [rule.metric] * bool(rule.metric) + list(rule.weights):
        if metric not in metrics:
            text = f": {shown(metric)} is no objective of the sweep{nearest(metric, metrics)}"
            yield "rule", text, f"allowed: {', '.join(metrics)}"
    if bool(rule.metric) != (rule.tolerance is not None) or (rule.relative and not rule.metric):
        text = ": an objective and its tolerance are stated together"
        yield "rule", text, 'allowed: both, fastest_within("val_acc", 0.01) say, or none of it'
    if rule.metric:
        objective = Objective(rule.metric, sweep.objectives[0].goal, rule.tolerance, rule.relative)
        for _, text, allowed in _of_objective("rule", objective, sweep):
            if "tolerance" in text:
                yield "rule", text, allowed
    if rule.kind is RuleKind.WEIGHTED and not rule.weights:
        yield "rule", " = weighted() has no weights", "allowed: weighted(samples_per_s=1, ...)"
    for metric, weight in rule.weights.items():
        if not 0 < weight < _INFINITE:
            text = f": weight of {metric} = {shown(weight)} is not allowed"
            yield "rule", text, "allowed: a number > 0"


def costs_findings(sweep: Sweep[Any]) -> Iterator[Finding]:
    """Yield costs that are no knob with numbers, and no figure."""
    knobs, metrics = knobs_of(sweep.trainable.config), known_metrics(sweep.trainable)
    numbers = [name for name, knob in knobs.items() if knob.type in (bool, int, float)]
    for name in sweep.costs:
        if name not in numbers and name not in metrics:
            text = f": {name!r} is no knob that is a number, and no figure"
            guess = nearest(name, [*numbers, *metrics])
            yield "costs", f"{text}{guess}", f"knobs: {', '.join(numbers) or 'none'}"


def target_findings(sweep: Sweep[Any]) -> Iterator[Finding]:
    """Yield what is wrong with the target."""
    target = sweep.target
    if isinstance(target, Objective):
        yield from _of_objective("target", target, sweep)
    elif target is not None and not 0 <= target <= 1:
        yield "target", f" = {shown(target)} is not allowed", f"allowed: {TARGET_ALLOWED}"


def prices_findings(sweep: Sweep[Any]) -> Iterator[Finding]:
    """Yield prices of something else, and those that are none."""
    for name, price in sweep.prices.items():
        if name not in PRICES:
            text = f": unknown price {name!r}{nearest(name, PRICES)}"
            yield "prices", text, f"allowed: {', '.join(PRICES)}"
        if not 0 <= price < _INFINITE:
            yield "prices", f": {name} = {shown(price)} is not allowed", "allowed: a number >= 0"


def stopping_findings(sweep: Sweep[Any]) -> Iterator[Finding]:
    """Yield everything that is wrong with what ends trials early, or with it for the sweep."""
    stopping = sweep.stopping
    if stopping is None:
        return
    if sweep.search.has_rungs:
        text = f" does not go with search={type(sweep.search).__name__}(), which has its own rungs"
        yield "stopping", text, "allowed: None, or another search"
    if not stopping.rungs(sweep.epochs):
        text = f": no trial of epochs={sweep.epochs} can end early"
        yield "stopping", text, "allowed: epochs of at least 2 and a smaller grace, or None"
    goals = [o.metric for o in sweep.objectives if o.bound is None]
    if unknown := stopping.unknown(sweep.objectives):
        allowed = f"allowed: {', '.join(goals)}, or another as maximize(...) or minimize(...)"
        for name in unknown:
            text = f": {name!r} is no objective of the sweep{nearest(name, goals)}"
            yield "stopping", text, allowed
        return
    known, derived = known_metrics(sweep.trainable), {metric.name for metric in DERIVED}
    for goal in stopping.goals(sweep.objectives):
        if goal.metric not in known:
            text = f": unknown metric {goal.metric!r}{nearest(goal.metric, known)}"
            yield "stopping", text, f"allowed: {', '.join(known)}"
        elif goal.metric in derived or goal.metric.startswith("test_"):
            text = f": {goal.metric} is in no report of a trial that still trains"
            yield "stopping", text, 'allowed: name what is, Asha("val_acc") say'
