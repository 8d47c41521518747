"""From a request to its plan, and to what its budgets know beforehand."""

from __future__ import annotations

from collections.abc import Callable

from orchestrator.driver.executors import EXECUTORS
from orchestrator.driver.plan import Plan, make_plan
from orchestrator.driver.request import DEFAULT_RUNS, Request
from orchestrator.driver.spending import Config, Expectation, Spending
from orchestrator.driver.trials import TrialFactory
from orchestrator.execution.placement import cores_of_trial
from orchestrator.machine import Machine
from orchestrator.space.configs import canonical, values_of


def planned(request: Request, machine: Machine, data: str) -> Plan:
    """Return the plan of a request on ``machine``; ``data`` is the name of its data set."""
    options, sweep = request.options, request.sweep
    one_at_a_time = EXECUTORS[options.executor_name].one_at_a_time
    return make_plan(
        sweep,
        machine,
        num_cores=cores_of_trial(sweep.cores_per_trial, machine),
        max_concurrent=1 if one_at_a_time else options.max_concurrent,
        runs=DEFAULT_RUNS / request.file.stem,
        data=data,
    )


def make_spending(request: Request, factory: TrialFactory, now: Callable[[], float]) -> Spending:
    """Return the spending of a run that has not begun.

    Args:
        request: What was asked for, with its budgets.
        factory: Makes its trials.
        now: Unix time now.
    """
    sweep, budgets = factory.sweep, request.options.budgets
    plan = planned(request, factory.machine, factory.data_name) if budgets.has_limits else None

    def num_gpus(config: Config) -> int:
        trainable = sweep.trainable
        return trainable.demand_of(trainable.config(**config), factory.machine).gpus

    expectation = Expectation(
        num_cores=factory.num_cores,
        budget=sweep.budget,
        baseline=values_of(canonical(sweep.baseline)),
        num_gpus=num_gpus,
        trial_s=None if plan is None else plan.trial_s,
        confirm=sweep.confirm,
        finalists=sweep.finalists,
        num_configs=None if plan is None else plan.num_able,
    )
    return Spending(budgets, expectation, now)
