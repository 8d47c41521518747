"""Figures and budgets that take a GPU or a counter: refused where this machine has none."""

from __future__ import annotations

from typing import Any

from orchestrator.driver.budgets.budgets import Budgets
from orchestrator.errors import SweepError, SweepFileError
from orchestrator.machine import Machine
from orchestrator.metric_table import OF_GPUS
from orchestrator.sweep.definition import Sweep
from orchestrator.system.energy import PackageEnergy


def require_counters(sweep: Sweep[Any], budgets: Budgets, machine: Machine) -> None:
    """Check that a machine can measure the objectives and the budgets of a run.

    Raises:
        SweepError: A budget counts GPU-hours alone, and there is no GPU: it would never end.
        SweepFileError: An objective has no counter here.
    """
    if machine.gpus:
        return
    _require_counted(budgets)
    reported = {objective.metric for objective in sweep.trainable.reports}
    for metric in {objective.metric for objective in sweep.objectives} - reported:
        if metric in OF_GPUS:
            raise SweepFileError(
                f"the sweep's objective {metric} is measured on GPUs, and none is here",
                "leave it out, or run on a machine with a GPU",
            )
        if metric == "energy_j" and not _has_package_counters():
            raise SweepFileError(
                "the sweep's objective energy_j has no counter here: there is no GPU, and those "
                "of the CPU packages (/sys/class/powercap) cannot be read",
                "leave it out, or run where one can be read; most systems let root alone",
            )


def _require_counted(budgets: Budgets) -> None:
    prices = budgets.prices
    if budgets.max_cost is not None and prices is not None and not prices.cpu_hour:
        raise SweepError(
            f"--max-cost {budgets.max_cost:g}: only a GPU-hour has a price, and no GPU is here",
            "give a price of a core-hour as well: --cost cpu_hour=0.04,gpu_hour=2.50",
        )


def _has_package_counters() -> bool:
    packages = PackageEnergy()
    packages.read()
    return packages.joules is not None
