"""The changes that a command line makes to a sweep; the problem that its search solves."""

import random
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import chain
from typing import Any

from orchestrator.errors import SweepError, SweepFileError, raise_all
from orchestrator.kernel.problem import SearchProblem
from orchestrator.machine import Machine, objection
from orchestrator.metric_table import OF_THE_TARGET
from orchestrator.metrics import Objective
from orchestrator.rules import SelectionRule
from orchestrator.search import named_search
from orchestrator.search.grid import every_combination, first_draws
from orchestrator.search.own import with_trials
from orchestrator.space.configs import (
    built,
    canonical,
    domains_of,
    knobs_of,
    parse_setting,
    replaced,
    values_of,
)
from orchestrator.sweep.checks import Finding, findings
from orchestrator.sweep.definition import Sweep
from orchestrator.sweep.rigor import with_setting

NUM_REASONS = 3
_PRICES = "prices."


def search_problem(sweep: Sweep[Any], machine: Machine) -> SearchProblem:
    """Return the problem of a search over ``sweep`` on ``machine``.

    Raises:
        SweepFileError: The sweep's own constraints exclude every config, or one of them
            raises or returns something else than a reason or None; or its objective is a cost
            without prices.
    """
    config_class = sweep.trainable.config
    metrics = {objective.metric for objective in sweep.objectives}
    if "cost" in metrics and not sweep.prices:
        raise SweepFileError(
            "the sweep's objective cost has no prices",
            "give them: --set prices.cpu_hour=0.04, or prices={...} in the sweep file",
        )

    def reason_against(values: Mapping[str, Any]) -> str | None:
        config = built(config_class, values)
        answers = (objection(each, config, machine) for each in sweep.constraints)
        return next((reason for reason in answers if reason), None)

    def canonical_values(values: Mapping[str, Any]) -> Mapping[str, Any]:
        config = built(config_class, values)
        meant = canonical(config)
        return values if meant is config else values_of(meant)

    problem = SearchProblem(
        base={**values_of(config_class()), **sweep.fixed},
        domains=domains_of(sweep.space),
        baseline=values_of(canonical(sweep.baseline)),
        objectives=tuple(sweep.objectives),
        budget=sweep.budget,
        repeats=sweep.rigor.repeats,
        seed=sweep.seed,
        admissible=lambda values: reason_against(values) is None,
        canonical=canonical_values,
        roles={name: knob.role for name, knob in knobs_of(config_class).items()},
        accuracy_tolerance=sweep.rigor.accuracy_tolerance,
        tie_margin=sweep.rigor.tie_margin,
        target=target_of(sweep) if metrics.intersection(OF_THE_TARGET) else None,
    )
    _require_some(problem, sweep, reason_against)
    return problem


def target_of(sweep: Sweep[Any]) -> Objective:
    """Return what times are counted to, as near to the best as in the report."""
    rule = sweep.rule if isinstance(sweep.rule, SelectionRule) else SelectionRule()
    return sweep.rigor.with_tolerance(sweep.aim, rule)


def _require_some(
    problem: SearchProblem,
    sweep: Sweep[Any],
    reason_against: Callable[[Mapping[str, Any]], str | None],
) -> None:
    reasons: Counter[str] = Counter()
    if not sweep.constraints:
        return
    drawn = first_draws(problem, random.Random(problem.seed))
    every = sweep.search.combinations(problem)
    for config in every or chain(drawn, every_combination(problem) or ()):
        reason = reason_against(problem.canonical(config))
        if reason is None:
            return
        reasons[reason] += 1
    shown = "; ".join(f"{reason} ({n:,})" for reason, n in reasons.most_common(NUM_REASONS))
    raise SweepFileError(
        f"the sweep's constraints exclude all of the {reasons.total():,} configs looked at",
        f"reasons: {shown}",
    )


# -- the command line


def overridden(
    sweep: Sweep[Any],
    *,
    settings: Sequence[str] = (),
    search: str | None = None,
    trials: int | None = None,
    fields: Mapping[str, Any] | None = None,
) -> Sweep[Any]:
    """Return the sweep as the command line wants it.

    A knob is fixed in the space and in the baseline. So speed-ups still show the effect of the
    other knobs, and not of this one.

    Args:
        sweep: The sweep of the file.
        settings: ``KNOB=VALUE`` each, which fixes a knob, ``rigor=PRESET``, ``rigor.NAME=VALUE``
            or ``prices.NAME=VALUE``.
        search: Name of another search, or None.
        trials: Configs to try at most, or None.
        fields: Other fields of the sweep by name, with their new values.

    Raises:
        SweepError: Something in the changes is not allowed; all of it is reported at once.
    """
    problems: list[SweepError] = []
    values: dict[str, Any] = {}
    rigor, spec = sweep.rigor, sweep.search
    for setting in settings:
        try:
            if setting.startswith(("rigor=", "rigor.")):
                rigor = with_setting(rigor, setting)
                continue
            if setting.startswith(_PRICES):
                name, _, text = setting.partition("=")
                value = _number(text)
            else:
                name, value = parse_setting(sweep.trainable.config, setting)
            if name in values and values[name] != value:
                raise SweepError(f"--set {setting}: {name} is also set to {values[name]!r}")
            values[name] = value
        except SweepError as error:
            problems.append(error)
    if search is not None:
        spec = named_search(search, spec)
    if trials is not None:
        spec = with_trials(spec, trials)
    if prices := {n: values.pop(n) for n in list(values) if n.startswith(_PRICES)}:
        new = {name.removeprefix(_PRICES): price for name, price in prices.items()}
        fields = {**(fields or {}), "prices": {**sweep.prices, **new}}
    space, baseline = (replaced(each, values) for each in (sweep.space, sweep.baseline))
    changed = replace(sweep, space=space, baseline=baseline, rigor=rigor, search=spec)
    if fields:
        before, changed = set(findings(changed)), replace(changed, **fields)
        problems += _problems(changed, fields, before)
    raise_all(problems)
    return changed


def _number(text: str) -> float | str:
    """Return a number; what is none as it is, to be refused with the sweep's other fields."""
    try:
        return float(text)
    except ValueError:
        return text


def _problems(
    changed: Sweep[Any], fields: Mapping[str, Any], before: set[Finding]
) -> Iterator[SweepError]:
    """Yield what is wrong with the changed sweep alone: also of a field that fits no longer."""
    for name, text, allowed in findings(changed):
        if name in fields:
            option = "set prices" if name == "prices" else name.replace("_", "-")
            yield SweepFileError(f"--{option}{text}", allowed)
        elif (name, text, allowed) not in before:
            options = ", ".join(f"--{field.replace('_', '-')} {fields[field]}" for field in fields)
            yield SweepFileError(f"{options}: {name}{text}", allowed)
