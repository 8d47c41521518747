"""An Optuna study of a sweep: results with constraints for bounds; distributions and values."""

import math
from collections.abc import Mapping, Sequence
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


class ConfigStudy:
    """A study that receives what configs have shown.

    Args:
        objectives: Those without a bound are the study's directions, the others constraints.
        sampler: The sampler.

    Attributes:
        study: Optuna's own record of suggestions and results.
        signs: For each direction +1 where larger is better, -1 where smaller is.
    """

    def __init__(
        self, objectives: Sequence[Objective], sampler: optuna.samplers.BaseSampler
    ) -> None:
        optuna.logging.set_verbosity(optuna.logging.ERROR)
        goals = [each for each in objectives if each.bound is None] or [objectives[0]]
        self._bounds = [each for each in objectives if each.bound is not None]
        self._all = [*goals, *self._bounds]
        self._worst: list[float] | None = None  # figure of each objective
        self._cannot_run: list[optuna.Trial] = []
        self.signs = [goal.sign for goal in goals]
        directions = [optuna.study.StudyDirection[goal.goal.name] for goal in goals]
        self.study = optuna.create_study(directions=directions, sampler=sampler)

    def conclude(self, trial: optuna.Trial, results: Sequence[TrialResult]) -> None:
        """Tell the means over a config's runs, or that it cannot run; a failure teaches nothing."""
        names = [objective.metric for objective in self._all]
        usable = (TrialState.COMPLETED, TrialState.STOPPED)
        rows = [
            [float(result.metrics[name]) for name in names]
            for result in results
            if result.state in usable and all(name in result.metrics for name in names)
        ]
        is_finite = all(math.isfinite(figure) for row in rows for figure in row)
        if not is_finite or any(each.state is TrialState.INFEASIBLE for each in results):
            self.tell_infeasible(trial)
        elif not rows:
            self.study.tell(trial, state=OptunaState.FAIL)
        else:
            means = [sum(column) / len(rows) for column in zip(*rows, strict=True)]
            pairs = zip(self._worst or means, means, self._all, strict=True)
            self._worst = [o.sign * min(o.sign * old, o.sign * new) for old, new, o in pairs]
            self._tell(trial, means, can_run=True)
            self._tell_waiting()

    def tell_infeasible(self, trial: optuna.Trial) -> None:
        """Tell that a config cannot run or is not wanted.

        It is COMPLETE with a violated constraint, at the worst figures seen, once there are any:
        samplers ignore trials that FAIL and would suggest the same region for ever (optuna#3472).
        """
        self._cannot_run.append(trial)
        self._tell_waiting()

    def _tell_waiting(self) -> None:
        if self._worst is not None:
            waiting, self._cannot_run = self._cannot_run, []
            for trial in waiting:
                self._tell(trial, self._worst, can_run=False)

    def _tell(self, trial: optuna.Trial, figures: Sequence[float], *, can_run: bool) -> None:
        """Tell the figures of all objectives; Optuna asks for all constraints of every trial."""
        trial.set_constraint(CAN_RUN, -1.0 if can_run else 1.0)
        num_values = len(self.signs)
        for bound, figure in zip(self._bounds, figures[num_values:], strict=True):
            assert bound.bound is not None, "it is one of the bounds"
            # As a fraction, bounds of any unit add up.
            missed = bound.sign * (bound.bound - figure) / (abs(bound.bound) or 1.0)
            trial.set_constraint(f"{bound.metric} {bound.goal} {bound.bound}", missed)
        self.study.tell(trial, figures[:num_values])


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
