"""From a sweep to what a search is given."""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from itertools import chain
from typing import Any

from orchestrator.errors import SweepFileError
from orchestrator.knobs import built, canonical, domains_of, values_of
from orchestrator.locations import place
from orchestrator.search.base import SearchProblem
from orchestrator.search.grid import Grid, combinations
from orchestrator.search.random import first_draws
from orchestrator.sweep import Sweep
from orchestrator.trainable import Constraint, Machine

NUM_REASONS = 3


def search_problem(sweep: Sweep[Any], machine: Machine) -> SearchProblem:
    """What a search over ``sweep`` is given on ``machine``.

    Raises:
        SweepFileError: The sweep's own constraints exclude every config, or one of them
            raises or returns something else than a reason or None.
    """
    config_class = sweep.trainable.config

    def objection(values: Mapping[str, Any]) -> str | None:
        config = built(config_class, values)
        answers = (_answer(constraint, config, machine) for constraint in sweep.constraints)
        return next((reason for reason in answers if reason), None)

    def canonical_values(values: Mapping[str, Any]) -> Mapping[str, Any]:
        config = built(config_class, values)
        found = canonical(config)
        return values if found is config else values_of(found)

    problem = SearchProblem(
        base=sweep.fixed,
        domains=domains_of(sweep.space),
        baseline=values_of(canonical(sweep.baseline)),
        objectives=tuple(sweep.objectives),
        budget=sweep.budget,
        repeats=sweep.repeats,
        seed=sweep.seed,
        admissible=lambda values: objection(values) is None,
        canonical=canonical_values,
    )
    _require_some(problem, sweep, objection)
    return problem


def _answer(constraint: Constraint[Any], config: object, machine: Machine) -> str | None:
    try:
        answer = constraint(config, machine)
    except Exception as error:
        raise SweepFileError(
            f"{_place(constraint)}: a constraint raised {type(error).__name__}: {error}",
            f"for {config!r}",
        ) from error
    if answer is None or isinstance(answer, str):
        return answer
    raise SweepFileError(
        f"{_place(constraint)}: a constraint returned {answer!r}",
        "allowed: a reason, or None where the config is wanted; requires(lambda config: ..., "
        "'reason') makes a constraint of a condition",
    )


def _place(constraint: Constraint[Any]) -> str:
    code = getattr(constraint, "__code__", None)
    return place(code.co_filename, code.co_firstlineno) if code else repr(constraint)


def _require_some(
    problem: SearchProblem,
    sweep: Sweep[Any],
    objection: Callable[[Mapping[str, Any]], str | None],
) -> None:
    reasons: Counter[str] = Counter()
    if not sweep.constraints:
        return
    for config in _looked_at(problem, sweep):
        reason = objection(problem.canonical(config))
        if reason is None:
            return
        reasons[reason] += 1
    shown = "; ".join(f"{reason} ({n:,})" for reason, n in reasons.most_common(NUM_REASONS))
    raise SweepFileError(
        f"the sweep's constraints exclude all of the {reasons.total():,} configs looked at",
        f"reasons: {shown}",
    )


def _looked_at(problem: SearchProblem, sweep: Sweep[Any]) -> Iterator[dict[str, Any]]:
    if isinstance(sweep.search, Grid):
        return combinations(problem, sweep.search.points)
    try:
        grid = combinations(problem, Grid().points)
        first = next(grid)
    except SweepFileError:  # more than can be gone through
        return first_draws(problem, random.Random(problem.seed))
    return chain([first], grid, first_draws(problem, random.Random(problem.seed)))
