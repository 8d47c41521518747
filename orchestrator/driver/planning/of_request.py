"""From a request to its plan, and to what its budgets know beforehand."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from statistics import median

from orchestrator.driver.budgets.expectation import Config, ConfirmStage, Expectation
from orchestrator.driver.budgets.spending import Spending
from orchestrator.driver.executors import EXECUTORS
from orchestrator.driver.planning.past_durations import Earlier, earlier_trials
from orchestrator.driver.planning.plan import Plan, kind_of, make_plan
from orchestrator.driver.request import DEFAULT_RUNS, Request
from orchestrator.execution.placement import cores_of_trial
from orchestrator.machine import Machine
from orchestrator.replay.setup import Replay
from orchestrator.search.own import with_trials
from orchestrator.space.configs import canonical, values_of


def planned(request: Request, machine: Machine, data: str) -> Plan:
    """Return the plan of a request on ``machine``; ``data`` is the name of its data set."""
    options, sweep = request.options, request.sweep
    one_at_a_time = EXECUTORS[options.executor_name].one_at_a_time
    plan = make_plan(
        sweep,
        machine,
        num_cores=cores_of_trial(sweep.cores_per_trial, machine),
        max_concurrent=1 if one_at_a_time else options.max_concurrent,
        runs=_earlier_runs(request),
        data=data,
    )
    return plan if request.replay is None else replace(plan, earlier=_recorded(request.replay))


def expected_trial_s(request: Request, num_cores: int, data: str) -> float | None:
    """Return the seconds that a trial is expected to take, as a plan has them, without a plan.

    Args:
        request: What was asked for.
        num_cores: Cores of every trial.
        data: Name of the data set, or empty.
    """
    if request.replay is not None:
        return _recorded(request.replay).median_s
    sweep = request.sweep
    earlier = earlier_trials(_earlier_runs(request), kind_of(sweep, num_cores, data))
    return sweep.trial_s.get(data) if earlier is None else earlier.median_s


def _earlier_runs(request: Request) -> list[Path]:
    """Return the directories of the sweep's earlier runs, the one that is resumed included."""
    runs = {run.resolve(): run for run in sorted((DEFAULT_RUNS / request.file.stem).glob("*"))}
    resumed = request.options.resume
    return list((runs if resumed is None else runs | {resumed.resolve(): resumed}).values())


def _recorded(replay: Replay) -> Earlier:
    """Return what the trainings of a recorded run took."""
    trials_s = replay.trials_s
    return Earlier(num_trials=len(trials_s), median_s=median(trials_s) if trials_s else 0.0)


def extended(request: Request, trials: int | None) -> Request:
    """Return the request with its search gone on to ``trials`` configs, to plan with."""
    if trials is None:
        return request
    sweep = replace(request.sweep, search=with_trials(request.sweep.search, trials))
    return replace(request, sweep=sweep)


def make_spending(request: Request, plan: Plan | None, now: Callable[[], float]) -> Spending:
    """Return the spending of a run that has not begun.

    Args:
        request: What was asked for, with its budgets.
        plan: Its plan; None where nothing has a limit.
        now: Unix time now.
    """
    sweep, machine = request.sweep, request.here if plan is None else plan.machine

    def num_gpus(config: Config) -> int:
        trainable = sweep.trainable
        return trainable.demand_of(trainable.config(**config), machine).gpus

    expectation = Expectation(
        num_cores=cores_of_trial(sweep.cores_per_trial, machine),
        budget=sweep.budget,
        baseline=values_of(canonical(sweep.baseline)),
        num_gpus=num_gpus,
        trial_s=None if plan is None else plan.trial_s,
        confirm=ConfirmStage() if plan is None else plan.confirm_stage,
        num_configs=None if plan is None else plan.num_able,
    )
    return Spending(request.budgets, expectation, now)
