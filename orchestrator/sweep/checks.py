"""Checks of a sweep before anything of it has run: every field, all at once.

The types of all fields come first, by their annotations; then what their values mean.
"""

import linecache
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, Final

from orchestrator.data import find_data
from orchestrator.errors import DataError, SweepError, SweepFileError, nearest
from orchestrator.field_types import WrongField, shown, wrong_fields
from orchestrator.locations import line_of, place
from orchestrator.metric_table import DERIVED, METRICS
from orchestrator.metrics import MAX_OBJECTIVES, Objective, is_accuracy
from orchestrator.rules import RuleKind, SelectionRule
from orchestrator.space.configs import domains_of, idle_knobs, knobs_of
from orchestrator.sweep.definition import Sweep
from orchestrator.sweep.rigor import rigor_findings
from orchestrator.trainable import Trainable

Finding = tuple[str, str, str]
"""A field of the sweep, what is wrong with it, and what is allowed."""

PRICES: Final = ("cpu_hour", "gpu_hour")
_INFINITE: Final = float("inf")
_CHECK_THEMSELVES: Final = ("trainable", "objectives", "target", "stopping")
"""Fields with values that have refused what is wrong with their own fields."""

_ALLOWED: Final = {
    "cores_per_trial": "NODE, or an int >= 1",
    "constraints": "a list of functions of a config and a machine",
    "objectives": (
        f"one to {MAX_OBJECTIVES} of maximize(...), minimize(...), at_least(...) and "
        "at_most(...): what is to be faster, then what that must not cost"
    ),
    "prices": f"prices of {' and '.join(PRICES)}, numbers >= 0",
    "published": "a list of Published(...), with a mapping of knobs and one of metrics to numbers",
    "rule": "fastest_within(...), knee(), weighted(...) with numbers > 0, or a function of the "
    "table of configs",
    "search": "Grid(), Random(40), Optuna(100), ...",
    "stopping": 'Asha("val_acc"), Asha(), ..., or None',
    "target": "a fraction of 1, at_least(...), or maximize(..., tolerance=...)",
    "trackers": "a list of Csv(), TensorBoard(), and objects of your own subclasses of Tracker",
    "trial_s": "a mapping of names of data sets to seconds > 0",
}
"""What is allowed, for the fields that take more than a type."""


def sweep_problems(sweep: Sweep[Any], file: Path) -> list[SweepError]:
    """Return everything that is wrong with the fields of the sweep in ``file``."""
    if not isinstance(sweep.trainable, Trainable):
        return []  # the sweep itself refused it
    return [
        SweepFileError(f"{_place(file, field)}: {field}{text}", allowed)
        for field, text, allowed in findings(sweep)
    ]


def findings(sweep: Sweep[Any]) -> Iterator[Finding]:
    """Yield everything that is wrong with the fields of a sweep, one kind after the other."""
    wrong = {each.field: each for each in wrong_fields(sweep) if each.field != "rigor"}
    for field, found in wrong.items():
        if not (field in _CHECK_THEMSELVES and "." in found.path):
            yield _of_type(found)
    for text, allowed in rigor_findings(sweep.rigor):
        yield "rigor", text, allowed
    for fields, check in {
        ("space", "baseline"): _of_space,
        ("objectives",): objective_findings,
        ("rule", "objectives"): rule_findings,
        ("target",): target_findings,
        ("prices",): prices_findings,
        ("stopping", "search", "objectives", "epochs"): stopping_findings,
        ("data", "embedded_data", "trial_s"): _of_data,
        ("published",): _of_published,
    }.items():
        if not wrong.keys() & fields:
            yield from check(sweep)


def _of_type(wrong: WrongField) -> Finding:
    """Return the finding for a value of another type than declared."""
    field, path = wrong.field, wrong.path.removeprefix(wrong.field)
    if isinstance(wrong.value, type) and not path:
        name = wrong.value.__name__
        return field, f" = {name} is a class", f"allowed: {name}()"
    text = f"{path} = {shown(wrong.value)} is not allowed"
    return field, text, f"allowed: {_ALLOWED.get(field, wrong.allowed)}"


def _place(file: Path, field: str) -> str:
    """Return the place of an argument of the call in ``SWEEP = Sweep(...)``, if there is one."""
    source = str(file.resolve())
    lines = linecache.getlines(source)
    begin = next((n for n, line in enumerate(lines, 1) if line.startswith("SWEEP")), len(lines) + 1)
    line = line_of(source, field, range(begin, len(lines) + 1))
    return place(file, begin if line is None and field == "trainable" else line)


# -- one kind of field after the other


def _of_space(sweep: Sweep[Any]) -> Iterator[Finding]:
    config = sweep.trainable.config
    if not knobs_of(config):
        text = f": {config.__name__} has no knob, so there is nothing to vary"
        hint = 'allowed: a knob for each setting; for a function of Ray Tune config={"lr": 0.1}'
        yield "trainable", text, hint
        return
    for field in ("space", "baseline"):
        value = getattr(sweep, field)
        if type(value) is not config:
            text = f" is of type {type(value).__name__}, not {config.__name__}"
            yield field, text, f"allowed: {config.__name__}(...) or a mapping of its knobs"
            continue
        if field == "baseline":
            for name, domain in domains_of(value).items():
                text = f" varies {name} over {domain}"
                yield field, text, "allowed: one value for every knob"
            idle_knobs(value)  # refuses a condition that raises


def _of_data(sweep: Sweep[Any]) -> Iterator[Finding]:
    sets = sweep.trainable.data
    named = [("data", sweep.data), ("embedded_data", sweep.embedded_data)]
    for field, name in [*named, *(("trial_s", name) for name in sweep.trial_s)]:
        try:
            dataset = find_data(sets, name) if name else None
        except DataError as error:
            yield field, f": {error.message}", error.hint
            continue
        if field == "embedded_data" and dataset is not None and not dataset.embedded:
            embedded = [data.name for data in sets if data.embedded]
            text = f": {name!r} is not embedded: it may be absent itself"
            yield field, text, f"allowed: {', '.join(embedded) or 'None'}"


def _of_published(sweep: Sweep[Any]) -> Iterator[Finding]:
    known: Mapping[str, Any] = knobs_of(sweep.trainable.config)
    for published in sweep.published:
        for name, value in published.knobs.items():
            if name not in known:
                text = f": {name!r} is not a knob{nearest(str(name), known)}"
                yield "published", text, f"knobs: {', '.join(known)}"
            elif known[name].refuses(value):
                guess = nearest(str(value), map(str, known[name].options))
                text = f": {name} = {shown(value)} is not allowed{guess}"
                yield "published", text, f"allowed: {known[name].allowed}"


# -- objectives, the rule and stopping, and what these rest on


def known_metrics(trainable: Trainable[Any]) -> list[str]:
    """Return the metrics that a trial of ``trainable`` can be judged by: measured or reported."""
    return [*METRICS, *(o.metric for o in trainable.reports if o.metric not in METRICS)]


def objective_findings(sweep: Sweep[Any]) -> Iterator[Finding]:
    """Yield everything that is wrong with the objectives."""
    objectives, allowed = sweep.objectives, f"allowed: {_ALLOWED['objectives']}"
    if not 1 <= len(objectives) <= MAX_OBJECTIVES:
        yield "objectives", f" has {len(objectives)} entries", allowed
    for position, objective in enumerate(objectives):
        yield from _of_objective("objectives", objective, sweep)
        before = [o.metric for o in objectives[:position] if o.bound is None]
        if objective.bound is None and objective.metric in before:
            yield "objectives", f": {shown(objective.metric)} is named twice", allowed
    if objectives and all(objective.bound is not None for objective in objectives):
        text = " has conditions alone, and nothing to improve"
        yield "objectives", text, "allowed: at least one of maximize(...) and minimize(...)"


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
            yield "rule", text, f"allowed: {_ALLOWED['rule']}; {name} is to be called: {name}(...)"
        return
    for metric in [rule.metric] * bool(rule.metric) + list(rule.weights):
        if metric not in metrics:
            text = f": {shown(metric)} is no objective of the sweep{nearest(metric, metrics)}"
            yield "rule", text, f"allowed: {', '.join(metrics)}"
    if bool(rule.metric) != (rule.tolerance is not None) or (rule.relative and not rule.metric):
        text = ": an objective and its tolerance are stated together"
        yield "rule", text, 'allowed: both, as in fastest_within("val_acc", 0.01), or neither'
    if rule.metric:
        objective = Objective(rule.metric, sweep.objectives[0].goal, rule.tolerance, rule.relative)
        for _, text, allowed in _of_objective("rule", objective, sweep):
            if "tolerance" in text:
                yield "rule", text, allowed
    if rule.kind is RuleKind.WEIGHTED and not rule.weights:
        yield "rule", " = weighted() has no weights", "allowed: weighted(samples_per_s=1, ...)"


def target_findings(sweep: Sweep[Any]) -> Iterator[Finding]:
    """Yield what is wrong with the target."""
    if isinstance(sweep.target, Objective):
        yield from _of_objective("target", sweep.target, sweep)


def prices_findings(sweep: Sweep[Any]) -> Iterator[Finding]:
    """Yield prices of something else."""
    for name in sweep.prices:
        if name not in PRICES:
            text = f": unknown price {name!r}{nearest(name, PRICES)}"
            yield "prices", text, f"allowed: {', '.join(PRICES)}"


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
    unknown = [each for each in stopping.metrics if isinstance(each, str) and each not in goals]
    for name in unknown:
        text = f": {name!r} is no objective of the sweep{nearest(name, goals)}"
        allowed = f"allowed: {', '.join(goals)}, or another as maximize(...) or minimize(...)"
        yield "stopping", text, allowed
    if unknown:
        return
    known, derived = known_metrics(sweep.trainable), {metric.name for metric in DERIVED}
    for goal in stopping.goals(sweep.objectives):
        if goal.metric not in known:
            text = f": unknown metric {goal.metric!r}{nearest(goal.metric, known)}"
            yield "stopping", text, f"allowed: {', '.join(known)}"
        elif goal.metric in derived or goal.metric.startswith("test_"):
            text = f": {goal.metric} is in no report of a trial that still trains"
            yield "stopping", text, 'allowed: a metric that is, as in Asha("val_acc")'
