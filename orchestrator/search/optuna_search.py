"""An Optuna study as a search: asked and told."""

from __future__ import annotations

import heapq
import math
import random
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final

import optuna
from optuna.distributions import (
    BaseDistribution,
    CategoricalDistribution,
    FloatDistribution,
    IntDistribution,
)

from orchestrator.search.base import Pause, Proposal, SearchProblem
from orchestrator.search.candidates import Key, key_of
from orchestrator.search.random import first_draws
from orchestrator.space.domains import Choice, Domain
from orchestrator.trial import Report, Trial, TrialResult, TrialState

MAX_ATTEMPTS = 10
"""Suggestions in a row that are known or excluded before one is drawn at random instead."""

SPREAD: Final = 4
"""Later runs of a config lie at random among the runs of so many configs: a drift of the machine
meets all of these alike, and the sampler does not wait much longer for the config's result."""

_CONSTRAINT = "can run"


@dataclass(kw_only=True)
class _Asked:
    """A config that was asked for, and the results of its runs.

    Attributes:
        trial: Optuna's own trial, or None for a baseline that lies outside the space.
        num_open: Runs that are still to be asked for or to be told.
        results: Results of the others.
    """

    trial: optuna.Trial | None
    num_open: int
    results: list[TrialResult] = field(default_factory=list)


class OptunaSearch:
    """A search that asks for what a sampler suggests, and tells it the mean over repeats.

    The first run of each config is asked for as it is suggested, the others at random places
    among the runs of those that follow.

    Args:
        problem: The space, objectives and seed.
        trials: Distinct configs to ask for at most.
        sampler: The sampler.

    Attributes:
        study: Optuna's own record of suggestions and results.
    """

    def __init__(
        self, problem: SearchProblem, *, trials: int, sampler: optuna.samplers.BaseSampler
    ) -> None:
        optuna.logging.set_verbosity(optuna.logging.WARNING)
        self._problem = problem
        self._num_trials = trials
        self.study = optuna.create_study(
            directions=[
                optuna.study.StudyDirection[objective.goal.name] for objective in problem.objectives
            ],
            sampler=sampler,
        )
        self._space = {name: _distribution(d) for name, d in problem.domains.items()}
        self._rng = random.Random(f"optuna of {problem.seed}")
        self._asked: dict[Key, _Asked] = {}
        self._excluded: set[Key] = set()
        self._places = random.Random(f"repeats of {problem.seed}")
        self._num_runs = 0
        self._later: list[tuple[int, int, Key, Proposal]] = []  # a heap by place, then by age
        self._worst: list[float] | None = None
        self._used_up = False

    def ask(self) -> Proposal | Pause | None:
        """Return a repeat whose place has come, or else a new config; None at the end."""
        is_due = bool(self._later) and self._later[0][0] <= self._num_runs
        if not is_due and not self._used_up and len(self._asked) < self._num_trials:
            self._ask_for_new()
        if not self._later:
            return None
        self._num_runs += 1
        return heapq.heappop(self._later)[-1]

    def tell(self, trial: Trial, result: TrialResult) -> None:
        """Tell the study once all runs of the config have ended."""
        key = key_of(self._problem, trial.config)
        asked = self._asked[key]
        asked.results.append(result)
        asked.num_open -= 1
        if result.state is TrialState.INFEASIBLE:  # it would be so again
            left = [entry for entry in self._later if entry[2] != key]
            asked.num_open -= len(self._later) - len(left)
            heapq.heapify(left)
            self._later = left
        if asked.num_open == 0 and asked.trial is not None:
            self._conclude(asked.trial, asked.results)

    def should_stop(self, trial: Trial, report: Report) -> bool:
        """Return False: a study of several objectives has no single value to prune by."""
        return False

    # -- asking

    def _ask_for_new(self) -> None:
        suggestion = self._suggested() if self._asked else self._baseline()
        if suggestion is None:
            self._used_up = True
            return
        config, trial = suggestion
        key, repeats = key_of(self._problem, config), self._problem.repeats
        self._asked[key] = _Asked(trial=trial, num_open=repeats)
        span = SPREAD * repeats
        later = sorted(self._places.randint(1, span) for _ in range(repeats - 1))
        for repeat, ahead in enumerate([0, *later]):
            proposal = Proposal(config=config, budget=self._problem.budget, repeat=repeat)
            item = (self._num_runs + ahead, len(self._asked) * repeats + repeat, key, proposal)
            heapq.heappush(self._later, item)

    def _baseline(self) -> tuple[Mapping[str, Any], optuna.Trial | None]:
        baseline = self._problem.baseline
        # A knob that is idle in the baseline may have its default outside its domain.
        varied = {
            name: baseline[name] if domain.contains(baseline[name]) else domain.points(1)[0]
            for name, domain in self._problem.domains.items()
        }
        inside = self._config(varied) == baseline
        return baseline, self._enqueued(varied) if inside else None

    def _suggested(self) -> tuple[Mapping[str, Any], optuna.Trial] | None:
        """Return a config that is new and not excluded, or None where none seems to be left."""
        for _ in range(MAX_ATTEMPTS):
            trial = self.study.ask(self._space)
            config = self._config(_values(trial.params, self._problem.domains))
            if self._is_new(config):
                if self._problem.admissible(config):
                    return config, trial
                self._excluded.add(key_of(self._problem, config))
                self._tell_infeasible(trial)
            else:
                # Not told its result a second time: that would draw the sampler to it again.
                self.study.tell(trial, state=optuna.trial.TrialState.FAIL)
        for drawn in first_draws(self._problem, self._rng):
            config = self._problem.canonical(drawn)
            if self._is_new(config) and self._problem.admissible(config):
                return config, self._enqueued({name: drawn[name] for name in self._space})
        return None

    def _is_new(self, config: Mapping[str, Any]) -> bool:
        key = key_of(self._problem, config)
        return key not in self._asked and key not in self._excluded

    def _config(self, varied: Mapping[str, Any]) -> Mapping[str, Any]:
        return self._problem.canonical({**self._problem.base, **varied})

    def _enqueued(self, varied: Mapping[str, Any]) -> optuna.Trial:
        self.study.enqueue_trial(_params(varied, self._problem.domains))
        return self.study.ask(self._space)

    # -- telling

    def _conclude(self, trial: optuna.Trial, results: Sequence[TrialResult]) -> None:
        rows = [row for row in map(self._objective_values, results) if row]
        infeasible = any(result.state is TrialState.INFEASIBLE for result in results)
        if infeasible or not all(math.isfinite(value) for row in rows for value in row):
            self._tell_infeasible(trial)
        elif not rows:
            self.study.tell(trial, state=optuna.trial.TrialState.FAIL)
        else:
            means = [sum(column) / len(rows) for column in zip(*rows, strict=True)]
            signs = [objective.sign for objective in self._problem.objectives]
            worst = self._worst or means
            self._worst = [
                min(old * sign, new * sign) * sign
                for old, new, sign in zip(worst, means, signs, strict=True)
            ]
            trial.set_constraint(_CONSTRAINT, -1.0)
            self.study.tell(trial, means)

    def _tell_infeasible(self, trial: optuna.Trial) -> None:
        # As COMPLETE with a violated constraint, at the worst values seen: samplers ignore
        # trials that FAIL and would suggest the same region for ever (optuna#3472).
        trial.set_constraint(_CONSTRAINT, 1.0)
        self.study.tell(trial, self._worst or [0.0] * len(self._problem.objectives))

    def _objective_values(self, result: TrialResult) -> list[float]:
        """Return the objectives of a trial that has them all, else an empty list."""
        names = [objective.metric for objective in self._problem.objectives]
        usable = result.state in {TrialState.COMPLETED, TrialState.STOPPED}
        if not usable or not all(name in result.metrics for name in names):
            return []
        return [float(result.metrics[name]) for name in names]


def _distribution(domain: Domain) -> BaseDistribution:
    """Return Optuna's counterpart of a domain; of a choice, positions of its values."""
    if isinstance(domain, Choice):
        last = len(domain.values) - 1
        if _is_ordered(domain):
            return IntDistribution(0, last)
        return CategoricalDistribution(range(last + 1))
    if domain.integer:
        return IntDistribution(int(domain.low), int(domain.high), log=domain.log)
    return FloatDistribution(domain.low, domain.high, log=domain.log)


def _is_ordered(domain: Choice) -> bool:
    numbers = all(isinstance(v, (int, float)) and not isinstance(v, bool) for v in domain.values)
    return numbers and list(domain.values) == sorted(domain.values)


def _values(params: Mapping[str, Any], domains: Mapping[str, Domain]) -> dict[str, Any]:
    """Return the knob values of Optuna's suggestion."""
    return {
        name: domain.values[params[name]]
        if isinstance(domain, Choice)
        else domain.snapped(params[name])
        for name, domain in domains.items()
    }


def _params(values: Mapping[str, Any], domains: Mapping[str, Domain]) -> dict[str, Any]:
    """Return Optuna's parameters, the inverse of :func:`_values`."""
    return {
        name: domain.values.index(values[name]) if isinstance(domain, Choice) else values[name]
        for name, domain in domains.items()
    }
