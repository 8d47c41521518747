"""Checks of a sweep before anything of it has run: every field, all at once."""

from __future__ import annotations

import ast
from collections.abc import Iterator, Mapping
from itertools import chain
from pathlib import Path
from typing import Any

from orchestrator.data import find_data
from orchestrator.errors import DataError, SweepError, SweepFileError, nearest
from orchestrator.field_types import shown, wrong_fields
from orchestrator.locations import place, syntax_tree
from orchestrator.space.configs import domains_of, idle_knobs, knobs_of
from orchestrator.sweep.definition import NODE, Published, Sweep
from orchestrator.sweep.objectives import objective_findings
from orchestrator.sweep.rigor import rigor_findings
from orchestrator.sweep.stopping import stopping_findings
from orchestrator.sweep.values import Finding, is_list, is_number, is_whole, refused
from orchestrator.trainable import Trainable

MAX_SEED = 2**31 - 1

_CHECK_THEMSELVES = ("trainable", "objectives", "target", "stopping")
"""Fields whose values have refused what is wrong with their own fields."""


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
    checks = (
        _of_space, _of_cores, _of_rigor, objective_findings, _of_search, stopping_findings,
        _of_data, _of_trial_s, _of_constraints, _of_published,
    )  # fmt: skip
    refused_fields = set()
    for check in checks:
        for finding in check(sweep):
            refused_fields.add(finding[0])
            yield finding
    for wrong in wrong_fields(sweep):  # what no check of its own has refused
        has_refused_itself = wrong.field in _CHECK_THEMSELVES and "." in wrong.path
        if wrong.field not in {"rigor", *refused_fields} and not has_refused_itself:
            path = wrong.path.removeprefix(wrong.field)
            yield wrong.field, f"{path}{refused(wrong.value)}", f"allowed: {wrong.allowed}"


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


def _of_cores(sweep: Sweep[Any]) -> Iterator[Finding]:
    if sweep.cores_per_trial is not NODE and not is_whole(sweep.cores_per_trial, 1):
        yield "cores_per_trial", refused(sweep.cores_per_trial), "allowed: NODE, or an int >= 1"


def _of_rigor(sweep: Sweep[Any]) -> Iterator[Finding]:
    for text, allowed in rigor_findings(sweep.rigor):
        yield "rigor", text, allowed


def _of_search(sweep: Sweep[Any]) -> Iterator[Finding]:
    methods = (getattr(sweep.search, name, None) for name in ("start", "with_trials"))
    if isinstance(sweep.search, type):
        name = sweep.search.__name__
        yield "search", f" = {name} is a class", f"allowed: {name}()"
    elif not all(map(callable, methods)):
        yield "search", refused(sweep.search), "allowed: Grid(), Random(40), Optuna(100), ..."


def _of_data(sweep: Sweep[Any]) -> Iterator[Finding]:
    sets = sweep.trainable.data
    for field in ("data", "embedded_data"):
        name = getattr(sweep, field)
        if name is None:
            continue
        if not isinstance(name, str):
            yield field, refused(name), f"allowed: {', '.join(data.name for data in sets)}"
            continue
        if not name:
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
    if not isinstance(sweep.trial_s, Mapping):
        allowed = "allowed: a mapping of names of data sets to seconds"
        yield "trial_s", refused(sweep.trial_s), allowed
        return
    for name, seconds in sweep.trial_s.items():
        try:
            find_data(sweep.trainable.data, str(name))
        except DataError as error:
            yield "trial_s", f": {error.message}", error.hint
        if not is_number(seconds, lambda value: value > 0):
            yield "trial_s", f": {name!r}{refused(seconds)}", "allowed: seconds > 0"


def _of_constraints(sweep: Sweep[Any]) -> Iterator[Finding]:
    if not is_list(sweep.constraints):
        allowed = "allowed: a list of functions of a config and a machine"
        yield "constraints", refused(sweep.constraints), allowed
        return
    for constraint in sweep.constraints:
        if not callable(constraint):
            text = f": {shown(constraint)} is not allowed"
            yield "constraints", text, "allowed: functions of a config and a machine"


def _of_published(sweep: Sweep[Any]) -> Iterator[Finding]:
    if not is_list(sweep.published):
        yield "published", refused(sweep.published), "allowed: a list of Published(...)"
        return
    for published in sweep.published:
        if not isinstance(published, Published):
            yield "published", f": {shown(published)} is not allowed", "allowed: Published(...)"
            continue
        if not isinstance(published.data, str):
            yield "published", f": data{refused(published.data)}", "allowed: a str"
        for text, allowed in chain(_of_its_knobs(sweep, published), _of_its_figures(published)):
            yield "published", text, allowed


def _of_its_knobs(sweep: Sweep[Any], published: Published) -> Iterator[tuple[str, str]]:
    known = knobs_of(sweep.trainable.config)
    if not isinstance(published.knobs, Mapping):
        yield f": knobs{refused(published.knobs)}", "allowed: a mapping of knobs to their values"
        return
    for name, value in published.knobs.items():
        if name not in known:
            yield (
                f": {name!r} is not a knob{nearest(str(name), known)}",
                f"knobs: {', '.join(known)}",
            )
        elif known[name].refuses(value):
            guess = nearest(str(value), map(str, known[name].options))
            yield f": {name}{refused(value)}{guess}", f"allowed: {known[name].allowed}"


def _of_its_figures(published: Published) -> Iterator[tuple[str, str]]:
    # Their names may be any: a trainable reports more than the metrics that it declares.
    figures = published.figures
    if not isinstance(figures, Mapping) or not all(
        isinstance(name, str) and is_number(value) for name, value in figures.items()
    ):
        yield f": figures{refused(figures)}", "allowed: a mapping of metrics to numbers"
