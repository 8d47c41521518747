"""Knobs and results in Optuna's words: distributions, values, and constraints for bounds."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

import optuna
from optuna.distributions import (
    BaseDistribution,
    CategoricalDistribution,
    FloatDistribution,
    IntDistribution,
)
from optuna.trial import TrialState as OptunaState

from orchestrator.metrics import Objective
from orchestrator.space.domains import Choice, Domain
from orchestrator.trial import TrialResult, TrialState

CAN_RUN: Final = "can run"
"""The constraint that a config violates that is infeasible, diverges or is not wanted."""


@dataclass(frozen=True, kw_only=True)
class Score:
    """Score of a config: its values, and the bounds that it misses.

    Attributes:
        values: A value for each of the study's directions.
        violations: For each bound by how much it is missed, as a fraction of it; 0 or less where
            it holds.
    """

    values: Sequence[float]
    violations: Mapping[str, float]


class ToldStudy:
    """A study that receives what configs have shown.

    Args:
        objectives: Those without a bound are the study's directions, the others constraints.
        sampler: The sampler.

    Attributes:
        study: Optuna's own record of suggestions and results.
    """

    def __init__(
        self, objectives: Sequence[Objective], sampler: optuna.samplers.BaseSampler
    ) -> None:
        optuna.logging.set_verbosity(optuna.logging.ERROR)
        free = [objective for objective in objectives if objective.bound is None]
        self._goals = free or [objectives[0]]
        self._bounds = [objective for objective in objectives if objective.bound is not None]
        self._worst: Score | None = None
        self._cannot_run: list[optuna.Trial] = []
        directions = [optuna.study.StudyDirection[goal.goal.name] for goal in self._goals]
        self.study = optuna.create_study(directions=directions, sampler=sampler)

    @property
    def signs(self) -> list[float]:
        """Return for each direction +1 where larger is better, -1 where smaller is."""
        return [goal.sign for goal in self._goals]

    def conclude(self, trial: optuna.Trial, results: Sequence[TrialResult]) -> None:
        """Tell the means over a config's runs, or that it cannot run; a failure teaches nothing."""
        if self._is_infeasible(results):
            self.tell_infeasible(trial)
        elif (score := self._score(results)) is None:
            self.study.tell(trial, state=OptunaState.FAIL)
        else:
            self._note(score)
            for name, violation in _constraints(score, can_run=True).items():
                trial.set_constraint(name, violation)
            self.study.tell(trial, score.values)
            self._tell_waiting()

    def tell_infeasible(self, trial: optuna.Trial) -> None:
        """Tell that a config cannot run or is not wanted.

        It is COMPLETE with a violated constraint, at the worst values seen, once there are any:
        samplers ignore trials that FAIL and would suggest the same region for ever (optuna#3472).
        """
        self._cannot_run.append(trial)
        self._tell_waiting()

    # -- from results to a score

    def _is_infeasible(self, results: Sequence[TrialResult]) -> bool:
        figures = (figure for row in self._rows(results) for figure in row.values())
        cannot_run = any(result.state is TrialState.INFEASIBLE for result in results)
        return cannot_run or not all(map(math.isfinite, figures))

    def _score(self, results: Sequence[TrialResult]) -> Score | None:
        """Return the score of the results that have all figures; None where none has."""
        rows = self._rows(results)
        if not rows:
            return None
        means = {name: sum(row[name] for row in rows) / len(rows) for name in rows[0]}
        return Score(
            values=[means[goal.metric] for goal in self._goals],
            violations={_name(bound): _violation(bound, means) for bound in self._bounds},
        )

    def _rows(self, results: Sequence[TrialResult]) -> list[dict[str, float]]:
        names = [objective.metric for objective in (*self._goals, *self._bounds)]
        usable = {TrialState.COMPLETED, TrialState.STOPPED}
        return [
            {name: float(result.metrics[name]) for name in names}
            for result in results
            if result.state in usable and all(name in result.metrics for name in names)
        ]

    # -- what cannot run

    def _note(self, score: Score) -> None:
        """Keep the worst of each value and of each bound's violation."""
        before = self._worst or score
        pairs = zip(before.values, score.values, self.signs, strict=True)
        self._worst = Score(
            values=[min(old * sign, new * sign) * sign for old, new, sign in pairs],
            violations={
                name: max(before.violations[name], new) for name, new in score.violations.items()
            },
        )

    def _tell_waiting(self) -> None:
        if self._worst is None:
            return
        waiting, self._cannot_run = self._cannot_run, []
        for trial in waiting:
            for name, violation in _constraints(self._worst, can_run=False).items():
                trial.set_constraint(name, violation)
            self.study.tell(trial, self._worst.values)


def _constraints(score: Score, *, can_run: bool) -> dict[str, float]:
    """Return the constraints of a trial; every trial has all of them, as Optuna asks."""
    return {CAN_RUN: -1.0 if can_run else 1.0, **score.violations}


def _name(bound: Objective) -> str:
    return f"{bound.metric} {bound.goal} {bound.bound}"


def _violation(bound: Objective, means: Mapping[str, float]) -> float:
    """Return by how much a bound is missed, as a fraction of it: bounds of any unit add up."""
    assert bound.bound is not None, "it is one of the bounds"
    return bound.sign * (bound.bound - means[bound.metric]) / (abs(bound.bound) or 1.0)


# -- knobs


def distribution(domain: Domain) -> BaseDistribution:
    """Return Optuna's counterpart of a domain; of a choice, positions of its values."""
    if isinstance(domain, Choice):
        last = len(domain.values) - 1
        if is_ordered(domain):
            return IntDistribution(0, last)
        return CategoricalDistribution(range(last + 1))
    if domain.integer:
        return IntDistribution(int(domain.low), int(domain.high), log=domain.log)
    return FloatDistribution(domain.low, domain.high, log=domain.log)


def values_of(params: Mapping[str, Any], domains: Mapping[str, Domain]) -> dict[str, Any]:
    """Return the knob values of Optuna's suggestion."""
    return {
        name: domain.values[params[name]]
        if isinstance(domain, Choice)
        else domain.snapped(params[name])
        for name, domain in domains.items()
    }


def params_of(values: Mapping[str, Any], domains: Mapping[str, Domain]) -> dict[str, Any]:
    """Return Optuna's parameters, the inverse of :func:`values_of`."""
    return {
        name: domain.values.index(values[name]) if isinstance(domain, Choice) else values[name]
        for name, domain in domains.items()
    }


def is_ordered(domain: Choice) -> bool:
    """Return True for numbers in ascending order."""
    numbers = all(isinstance(v, (int, float)) and not isinstance(v, bool) for v in domain.values)
    return numbers and list(domain.values) == sorted(domain.values)


def place(domain: Domain, value: Any) -> float:  # noqa: ANN401 - the knob's own type
    """Return where a value lies in its domain, 0 to 1 on its own scale."""
    if isinstance(domain, Choice):
        return domain.values.index(value) / max(len(domain.values) - 1, 1)
    if domain.low == domain.high:
        return 0.0
    if domain.log:
        return math.log(value / domain.low) / math.log(domain.high / domain.low)
    return float(value - domain.low) / (domain.high - domain.low)
