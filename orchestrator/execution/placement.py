"""Which machine there is, and how many cores of it a trial gets."""

from __future__ import annotations

import platform
from typing import Literal

from orchestrator.execution.core_policy import trial_cores
from orchestrator.machine import Machine, Node
from orchestrator.sweep.definition import NODE, Cores
from orchestrator.system.cores import usable_cores
from orchestrator.system.gpus import visible_gpus
from orchestrator.trainable import Demand


def local_machine() -> Machine:
    """This machine, without its driver's core, and without asking Ray or torch."""
    cores, gpus = len(trial_cores()), visible_gpus()
    node = Node(
        name=platform.node(),
        cpus=cores,
        gpus=len(gpus),
        gpu_name=gpus[0].name if gpus else "",
        kept_cpus=len(usable_cores()) - cores,
    )
    return Machine(nodes=(node,))


def cores_of_trial(asked: int | Literal[Cores.NODE], machine: Machine) -> int:
    """Cores of every trial of a sweep: what was asked, at most the node, at least one.

    ``NODE`` is the whole node, or its part per GPU where it has several.
    """
    if asked is NODE:
        return max(machine.cpus // max(machine.gpus, 1), 1)
    return min(asked, machine.cpus)


def capped(asked: int | Literal[Cores.NODE], machine: Machine) -> str:
    """What to say where more cores are asked for than a node has; empty otherwise."""
    if asked is NODE or asked <= machine.cpus:
        return ""
    kept = max(node.kept_cpus for node in machine.nodes)
    beside = f", {kept} more kept for the driver and Ray" if kept else ""
    return (
        f"{asked} cores a trial are asked for: every trial gets the whole node, "
        f"{machine.cpus} core{'s' * (machine.cpus > 1)}{beside}"
    )


def trials_at_once(cores: int, machine: Machine, demand: Demand) -> int:
    """How many trials with ``demand`` the machine holds at the same time."""

    def held(node: Node) -> int:
        by_cores = node.cpus // cores
        return min(by_cores, node.gpus // demand.gpus) if demand.gpus else by_cores

    return max(sum(held(node) for node in machine.nodes), 1)
