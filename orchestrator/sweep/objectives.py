"""Checks of a sweep's objectives, its rule and what these rest on."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from itertools import product
from typing import Any, Final

from orchestrator.errors import nearest
from orchestrator.field_types import shown, wrong_fields
from orchestrator.metric_table import METRICS
from orchestrator.metrics import Goal, Objective, is_accuracy
from orchestrator.rules import RuleKind, SelectionRule
from orchestrator.space.configs import knobs_of
from orchestrator.sweep.definition import Sweep
from orchestrator.sweep.values import Finding, is_list, is_number, refused
from orchestrator.texts import bounded_name
from orchestrator.trainable import Trainable

MAX_OBJECTIVES: Final = 3
PRICES: Final = ("cpu_hour", "gpu_hour")

_OBJECTIVES: Final = (
    f"allowed: one to {MAX_OBJECTIVES} of maximize(...), minimize(...), at_least(...) and "
    "at_most(...): what is to be faster, then what that must not cost"
)
_RULE: Final = (
    "allowed: fastest_within(...), knee(), weighted(...), or a function of the table of configs"
)


def objective_findings(sweep: Sweep[Any]) -> Iterator[Finding]:
    """Yield everything that is wrong with the objectives, the rule, costs, target and prices."""
    objectives = sweep.objectives
    if not is_list(objectives):
        yield "objectives", refused(objectives), _OBJECTIVES
        return
    if not 1 <= len(objectives) <= MAX_OBJECTIVES:
        yield "objectives", f" has {len(objectives)} entries", _OBJECTIVES
    for position, objective in enumerate(objectives):
        if not isinstance(objective, Objective):
            yield "objectives", f": {shown(objective)} is not allowed", _OBJECTIVES
            continue
        yield from _of_objective("objectives", objective, sweep)
        if any(_is_the_same(objective, before) for before in objectives[:position]):
            yield "objectives", f": {shown(objective.metric)} is named twice", _OBJECTIVES
    known = [objective for objective in objectives if isinstance(objective, Objective)]
    yield from _of_bounds(known)
    if known and all(objective.bound is not None for objective in known):
        text = " has conditions alone, and nothing to improve"
        yield "objectives", text, "allowed: at least one of maximize(...) and minimize(...)"
    yield from _of_rule(sweep, [objective.metric for objective in known])
    yield from _of_costs(sweep)
    yield from _of_target(sweep)
    yield from _of_prices(sweep)


def _is_the_same(objective: Objective, before: object) -> bool:
    """Return True for what was stated before, in whichever direction."""
    if not isinstance(before, Objective):
        return False
    is_goal = objective.bound is None and before.bound is None
    return before == objective or (is_goal and before.metric == objective.metric)


def _of_bounds(objectives: list[Objective]) -> Iterator[Finding]:
    """Yield bounds that no config can hold together."""
    bounds = [each for each in objectives if is_number(each.bound)]
    for low, high in product(bounds, repeat=2):
        is_pair = (low.goal, high.goal) == (Goal.MAXIMIZE, Goal.MINIMIZE)
        assert low.bound is not None, "it is a number"
        assert high.bound is not None, "it is a number"
        if is_pair and low.metric == high.metric and low.bound > high.bound:
            limits = f"at least {low.bound:g} and at most {high.bound:g}"
            text = f": {shown(low.metric)} is to be {limits}"
            yield "objectives", text, "allowed: bounds with a value between them"


def known_metrics(trainable: Trainable[Any]) -> list[str]:
    """Return the metrics that a trial of ``trainable`` can be judged by: measured or reported."""
    return [*METRICS, *(o.metric for o in trainable.reports if o.metric not in METRICS)]


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
    if bound is not None and not is_number(bound):
        yield field, f": {metric}: bound{refused(bound)}", "allowed: a number"
    elif bound is not None and is_accuracy(metric) and not 0 <= bound <= 1:
        text = f": {metric}: bound{refused(bound)}"
        yield field, text, "allowed: a fraction of 1, so 0.97 for 97 %"
    most = 1.0 if objective.relative or is_accuracy(metric) else float("inf")
    if tolerance is not None and not is_number(tolerance, lambda value: 0 <= value < most):
        limit = "a fraction of 1, >= 0 and < 1" if most == 1 else "a number >= 0"
        yield field, f": {metric}: tolerance{refused(tolerance)}", f"allowed: {limit}"


def _of_rule(sweep: Sweep[Any], metrics: list[str]) -> Iterator[Finding]:
    rule = sweep.rule
    if rule is None:
        return
    if not isinstance(rule, SelectionRule):
        if getattr(rule, "__module__", "") == SelectionRule.__module__ or not callable(rule):
            name = getattr(rule, "__name__", "")
            called = f"; {name} is to be called: {name}(...)" if name else ""
            yield "rule", refused(rule) if not name else f" = {name} is not allowed", _RULE + called
        return
    for metric in [rule.metric] * bool(rule.metric) + list(rule.weights):
        if metric not in metrics:
            close = nearest(shown(metric).strip("'"), metrics)
            text = f": {shown(metric)} is no objective of the sweep{close}"
            yield "rule", text, f"allowed: {', '.join(metrics)}"
    yield from _of_its_tolerance(rule)
    if rule.metric:
        objective = Objective(rule.metric, sweep.objectives[0].goal, rule.tolerance, rule.relative)
        for _, text, allowed in _of_objective("rule", objective, sweep):
            if "tolerance" in text:
                yield "rule", text, allowed
    if rule.kind is RuleKind.WEIGHTED and not rule.weights:
        yield "rule", " = weighted() has no weights", "allowed: weighted(samples_per_s=1, ...)"
    for metric, weight in rule.weights.items():
        if not is_number(weight, lambda value: value > 0):
            yield "rule", f": weight of {metric}{refused(weight)}", "allowed: a number > 0"


def _of_its_tolerance(rule: SelectionRule) -> Iterator[Finding]:
    """Yield what of a metric and its tolerance is stated alone, and would change nothing."""
    text = ""
    if rule.tolerance is not None and not rule.metric:
        text = f": a tolerance of {shown(rule.tolerance)} of no objective"
    elif rule.tolerance is None and rule.metric:
        text = f": {bounded_name(str(rule.metric))} has no tolerance"
    elif rule.tolerance is None and rule.relative:
        text = ": relative = True without a tolerance"
    if text:
        yield "rule", text, 'allowed: both, fastest_within("val_acc", 0.01) say, or none of it'


def _of_costs(sweep: Sweep[Any]) -> Iterator[Finding]:
    if not is_list(sweep.costs):
        yield "costs", refused(sweep.costs), "allowed: a list of names of knobs and figures"
        return
    knobs, metrics = knobs_of(sweep.trainable.config), known_metrics(sweep.trainable)
    numbers = [name for name, knob in knobs.items() if knob.type in (bool, int, float)]
    for name in sweep.costs:
        if name not in numbers and name not in metrics:
            text = f": {name!r} is no knob that is a number, and no figure"
            guess = nearest(str(name), [*numbers, *metrics])
            yield "costs", f"{text}{guess}", f"knobs: {', '.join(numbers) or 'none'}"


def _of_target(sweep: Sweep[Any]) -> Iterator[Finding]:
    target = sweep.target
    allowed = "allowed: a fraction of 1, at_least(...), or maximize(..., tolerance=...)"
    if target is None:
        return
    if not isinstance(target, Objective):
        if not is_number(target, lambda value: 0 <= value <= 1):
            yield "target", refused(target), allowed
        return
    yield from _of_objective("target", target, sweep)


def _of_prices(sweep: Sweep[Any]) -> Iterator[Finding]:
    if not isinstance(sweep.prices, Mapping):
        yield "prices", refused(sweep.prices), f"allowed: prices of {' and '.join(PRICES)}"
        return
    for name, price in sweep.prices.items():
        if name not in PRICES:
            text = f": unknown price {name!r}{nearest(str(name), PRICES)}"
            yield "prices", text, f"allowed: {', '.join(PRICES)}"
        if not is_number(price, lambda value: value >= 0):
            yield "prices", f": {name}{refused(price)}", "allowed: a number >= 0"
