"""The plan of a sweep: counted before anything starts, without Ray or torch."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import Any

from orchestrator.driver.budgets.budgets import Expectation
from orchestrator.driver.budgets.spending import Spending
from orchestrator.driver.phases import capacity_of, make_phases, searched_stages
from orchestrator.driver.planning.durations import Earlier, earlier_of
from orchestrator.driver.request import Request
from orchestrator.errors import SweepFileError
from orchestrator.execution.placement import cores_of_trial
from orchestrator.kernel.problem import Candidates, SearchProblem
from orchestrator.kernel.search import PlannedStage, Search
from orchestrator.machine import Machine
from orchestrator.search.grid import combinations
from orchestrator.search.own import with_trials
from orchestrator.search.stages.confirm import Confirming, FirstRounds
from orchestrator.search.stages.judge import Judge
from orchestrator.search.stages.sequence import Scope, Searching
from orchestrator.space.configs import built, canonical, domains_of, values_of
from orchestrator.sweep.definition import Sweep
from orchestrator.sweep.problem import search_problem
from orchestrator.trial import Stage


@dataclass(frozen=True, kw_only=True)
class CannotRun:
    """Configs that cannot run here, all for one reason.

    Attributes:
        reason: Why.
        num_configs: How many.
        example: The varied knobs of one of them.
    """

    reason: str
    num_configs: int
    example: Mapping[str, Any]


@dataclass(frozen=True, kw_only=True)
class Plan:
    """The plan of a sweep.

    Attributes:
        sweep: The question.
        machine: Where.
        candidates: The configs of a search that knows them beforehand. For another search:
            the combinations of its knobs' values, with the middle of each
            interval or the points that it states; None if there are too many.
        exact: Whether the candidates are what will be run.
        is_whole: Whether the candidates are all that a search without repetitions could run.
        max_configs: Most configs that get a row, or None for no limit known.
        num_able: Most of them that are trained, infeasible ones left out; or None.
        cannot_run: What cannot run here among the candidates, the largest group first.
        is_staged: True for a search that knows stages.
        searched: The stages of the search.
        around: The stages of the phases around the search.
        first_rounds: The confirm stage up to its first analysis.
        num_cores: Cores of every trial.
        capacity: Trials that run at the same time.
        earlier: What earlier trials of the sweep took, or None without any.
        stated_s: Seconds that a trial on this data takes by the sweep file, or None.
    """

    sweep: Sweep[Any]
    machine: Machine
    candidates: Candidates | None
    exact: bool
    is_whole: bool
    max_configs: int | None
    num_able: int | None
    cannot_run: tuple[CannotRun, ...]
    is_staged: bool
    searched: tuple[PlannedStage, ...]
    around: tuple[PlannedStage, ...]
    first_rounds: FirstRounds
    num_cores: int
    capacity: int
    earlier: Earlier | None = None
    stated_s: float | None = None

    @property
    def num_infeasible(self) -> int:
        """Return the number of candidates that cannot run here: one row each, without a run."""
        return sum(group.num_configs for group in self.cannot_run)

    @property
    def num_train(self) -> int | None:
        """Return the most trials to train, infeasible ones left out; None for no known limit."""
        return None if self.num_able is None else self.num_able * self.sweep.rigor.repeats

    @property
    def confirm(self) -> tuple[PlannedStage, ...]:
        """Return the confirm stage."""
        return tuple(stage for stage in self.around if stage.stage is Stage.CONFIRM)

    @property
    def trial_s(self) -> float | None:
        """Return the seconds of a trial: of earlier ones, else as stated, else None."""
        return self.stated_s if self.earlier is None else self.earlier.median_s


def make_plan(
    sweep: Sweep[Any],
    machine: Machine,
    *,
    num_cores: int,
    max_concurrent: int | None = None,
    data: str = "",
) -> Plan:
    """Return the plan of a sweep: its phases are made and counted, and none of them begins.

    Args:
        sweep: The sweep.
        machine: Where it would run.
        num_cores: Cores of every trial.
        max_concurrent: Most trials at the same time, or None.
        data: Name of the data set, or empty.

    Raises:
        SweepError: The sweep's constraints exclude every config, or its grid is too large.
    """
    problem = search_problem(sweep, machine)
    known = sweep.search.candidates(problem)
    exact = known is not None
    candidates, is_whole = (known, False) if exact else _candidates(sweep, problem)
    cannot_run = _infeasible(sweep, machine, candidates)
    trials = getattr(sweep.search, "trials", None)
    max_configs = num_able = trials if isinstance(trials, int) else None
    if candidates is not None and (exact or is_whole):
        num_configs = len(candidates.keys)
        max_configs = min(max_configs or num_configs, num_configs)
        num_able = min(max_configs, num_configs - sum(group.num_configs for group in cannot_run))
    searched = searched_stages(sweep, problem, num_able)
    scope = Scope(num_configs=num_able, searched=searched)
    capacity = capacity_of(sweep, machine, num_cores, max_concurrent)
    phases = make_phases(
        sweep,
        problem,
        Search(),
        capacity=capacity,
        judge=Judge(),
        may_interleave=lambda configs, results: True,
    )
    around = [phase for phase in phases if not isinstance(phase, Searching)]
    firsts = [phase.first_rounds(scope) for phase in phases if isinstance(phase, Confirming)]
    return Plan(
        sweep=sweep,
        machine=machine,
        candidates=candidates,
        exact=exact,
        is_whole=is_whole,
        max_configs=max_configs,
        num_able=num_able,
        cannot_run=cannot_run,
        is_staged=bool(sweep.search.planned(problem)),
        searched=tuple(searched),
        around=tuple(stage for phase in around for stage in phase.planned(scope)),
        first_rounds=next(iter(firsts), FirstRounds()),
        num_cores=num_cores,
        capacity=capacity.total,
        stated_s=sweep.trial_s.get(data),
    )


def _candidates(sweep: Sweep[Any], problem: SearchProblem) -> tuple[Candidates | None, bool]:
    """Return configs to count, and whether they are all that a search without repetitions has."""
    known = sweep.search.combinations(problem)
    is_whole = known is not None and not sweep.search.has_rungs
    try:
        return Candidates.of(problem, known or combinations(problem, 1)), is_whole
    except SweepFileError:  # more than can be enumerated, and than will be tried
        return None, False


def _infeasible(
    sweep: Sweep[Any], machine: Machine, candidates: Candidates | None
) -> tuple[CannotRun, ...]:
    """Return the configs that cannot run, by their reasons."""
    varied = domains_of(sweep.space)
    examples: dict[str, list[dict[str, Any]]] = {}
    for values in map(candidates.config, candidates.keys) if candidates else ():
        reason = sweep.trainable.infeasible(built(sweep.trainable.config, values), machine)
        if reason is not None:
            examples.setdefault(reason, []).append(values)
    groups = [
        CannotRun(
            reason=reason,
            num_configs=len(configs),
            example={name: configs[0][name] for name in varied},
        )
        for reason, configs in examples.items()
    ]
    return tuple(sorted(groups, key=lambda group: -group.num_configs))


# -- of a request


def planned(request: Request, machine: Machine, data: str) -> Plan:
    """Return the plan of a request on ``machine``; ``data`` is the name of its data set."""
    sweep, most = request.sweep, request.max_concurrent
    num_cores = cores_of_trial(sweep.cores_per_trial, machine)
    plan = make_plan(sweep, machine, num_cores=num_cores, max_concurrent=most, data=data)
    return replace(plan, earlier=earlier_of(request, num_cores, data))


def extended(request: Request, trials: int | None) -> Request:
    """Return the request with its search continued to ``trials`` configs, to plan with."""
    if trials is None:
        return request
    sweep = replace(request.sweep, search=with_trials(request.sweep.search, trials))
    return replace(request, sweep=sweep)


def make_spending(request: Request, plan: Plan | None, now: Callable[[], float]) -> Spending:
    """Return the spending of a run that has not begun.

    Args:
        request: The request, with its budgets.
        plan: Its plan; None if nothing has a limit.
        now: Unix time now.
    """
    sweep = request.sweep
    expectation = Expectation(
        num_cores=cores_of_trial(sweep.cores_per_trial, plan.machine if plan else request.here),
        budget=sweep.budget,
        baseline=values_of(canonical(sweep.baseline)),
        trial_s=plan.trial_s if plan else None,
        confirm=plan.first_rounds if plan else FirstRounds(),
        num_configs=plan.num_able if plan else None,
    )
    return Spending(request.budgets, expectation, now)
