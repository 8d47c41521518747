"""Checks of a sweep before anything of it has run: every field, all at once.

The types of all fields come first, by their annotations; then what their values mean.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, Final

from orchestrator.data import find_data
from orchestrator.errors import DataError, SweepError, SweepFileError, nearest
from orchestrator.field_types import WrongField, shown, wrong_fields
from orchestrator.locations import place, syntax_tree
from orchestrator.space.configs import domains_of, idle_knobs, knobs_of
from orchestrator.sweep.definition import Sweep
from orchestrator.sweep.objectives import (
    OBJECTIVES_ALLOWED,
    PRICES,
    RULE_ALLOWED,
    TARGET_ALLOWED,
    Finding,
    costs_findings,
    objective_findings,
    prices_findings,
    rule_findings,
    stopping_findings,
    target_findings,
)
from orchestrator.sweep.rigor import rigor_findings
from orchestrator.trainable import Trainable

_CHECK_THEMSELVES: Final = ("trainable", "objectives", "target", "stopping")
"""Fields whose values have refused what is wrong with their own fields."""

_ALLOWED: Final = {
    "cores_per_trial": "NODE, or an int >= 1",
    "constraints": "a list of functions of a config and a machine",
    "costs": "a list of names of knobs and figures",
    "objectives": OBJECTIVES_ALLOWED,
    "prices": f"prices of {' and '.join(PRICES)}, numbers >= 0",
    "published": "a list of Published(...), with a mapping of knobs and one of metrics to numbers",
    "rule": RULE_ALLOWED,
    "search": "Grid(), Random(40), Optuna(100), ...",
    "stopping": 'Asha("val_acc"), Asha(), ..., or None',
    "target": TARGET_ALLOWED,
    "trial_s": "a mapping of names of data sets to seconds > 0",
}
"""What is allowed, for a field whose type alone does not say it."""


def sweep_problems(sweep: Sweep[Any], file: Path) -> list[SweepError]:
    """Return everything that is wrong with the fields of the sweep in ``file``."""
    if not isinstance(sweep.trainable, Trainable):
        return []  # the sweep itself refused it
    wrong = list(findings(sweep))
    lines = _lines_of_fields(file) if wrong else {}
    return [
        SweepFileError(f"{place(file, lines.get(field))}: {field}{text}", allowed)
        for field, text, allowed in wrong
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
        ("costs",): costs_findings,
        ("target",): target_findings,
        ("prices",): prices_findings,
        ("stopping", "search", "objectives", "epochs"): stopping_findings,
        ("data", "embedded_data"): _of_data,
        ("trial_s",): _of_trial_s,
        ("published",): _of_published,
    }.items():
        if not wrong.keys() & fields:
            yield from check(sweep)


def _of_type(wrong: WrongField) -> Finding:
    """Return what is said of a value that is of another type than declared."""
    field, path = wrong.field, wrong.path.removeprefix(wrong.field)
    if isinstance(wrong.value, type) and not path:
        name = wrong.value.__name__
        return field, f" = {name} is a class", f"allowed: {name}()"
    text = f"{path} = {shown(wrong.value)} is not allowed"
    return field, text, f"allowed: {_ALLOWED.get(field, wrong.allowed)}"


def _lines_of_fields(file: Path) -> dict[str, int]:
    """Return the line of each argument of the call in ``SWEEP = Sweep(...)``, if there is one."""
    tree = syntax_tree(str(file.resolve()))
    lines: dict[str, int] = {}
    for node in tree.body if tree else ():
        targets = node.targets if isinstance(node, ast.Assign) else [getattr(node, "target", None)]
        if any(isinstance(target, ast.Name) and target.id == "SWEEP" for target in targets):
            value = getattr(node, "value", None)
            keywords = value.keywords if isinstance(value, ast.Call) else []
            lines = {keyword.arg: keyword.value.lineno for keyword in keywords if keyword.arg}
            lines.setdefault("trainable", node.lineno)
    return lines


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
    for field in ("data", "embedded_data"):
        if not (name := getattr(sweep, field)):
            continue
        try:
            dataset = find_data(sets, name)
        except DataError as error:
            yield field, f": {error.message}", error.hint
            continue
        if field == "embedded_data" and not dataset.embedded:
            embedded = [data.name for data in sets if data.embedded]
            text = f": {name!r} is not embedded: it may be absent itself"
            yield field, text, f"allowed: {', '.join(embedded) or 'None'}"


def _of_trial_s(sweep: Sweep[Any]) -> Iterator[Finding]:
    for name, seconds in sweep.trial_s.items():
        try:
            find_data(sweep.trainable.data, name)
        except DataError as error:
            yield "trial_s", f": {error.message}", error.hint
        if not 0 < seconds < float("inf"):
            text = f": {name!r} = {shown(seconds)} is not allowed"
            yield "trial_s", text, "allowed: seconds > 0"


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
