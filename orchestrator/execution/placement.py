"""Placement: the local machine, cores of a trial, and trials that a machine runs at a time."""

import platform
from typing import Literal

from orchestrator.execution.leases import trial_cores
from orchestrator.machine import Machine, Node
from orchestrator.sweep.definition import NODE, Cores
from orchestrator.system.cgroup import node_bytes
from orchestrator.system.cores import usable_cores
from orchestrator.system.gpus import has_mps, least_memory_gib, visible_gpus
from orchestrator.trainable import Demand


def local_machine() -> Machine:
    """Return this machine, without its driver's core. Neither Ray nor torch is imported."""
    cores, gpus = len(trial_cores()), visible_gpus()
    node = Node(
        name=platform.node(),
        cpus=cores,
        gpus=len(gpus),
        gpu_name=gpus[0].name if gpus else "",
        reserved_cpus=len(usable_cores()) - cores,
        has_mps=bool(gpus) and has_mps(),
        memory_gib=node_bytes() / 2**30,
        gpu_memory_gib=least_memory_gib() if gpus else 0.0,
    )
    return Machine(nodes=(node,))


def cores_of_trial(asked: int | Literal[Cores.NODE], machine: Machine) -> int:
    """Return the cores of every trial of a sweep: as asked, at most a node, at least one.

    ``NODE`` is the whole node, or its part for one GPU if it has several.
    """
    if asked is NODE:
        return max(machine.cpus // max(machine.gpus, 1), 1)
    return min(asked, machine.cpus)


def cap_note(asked: int | Literal[Cores.NODE], machine: Machine) -> str:
    """Return a note that more cores are asked for than a node has; empty otherwise."""
    if asked is NODE or asked <= machine.cpus:
        return ""
    reserved = max(node.reserved_cpus for node in machine.nodes)
    besides = f", {reserved} more kept for the driver and Ray" if reserved else ""
    return (
        f"{asked} cores a trial are asked for: every trial gets the whole node, "
        f"{machine.cpus} core{'s' * (machine.cpus > 1)}{besides}"
    )


def machine_capacity(cores: int, machine: Machine, demand: Demand) -> int:
    """Return the number of trials with ``demand`` that the machine runs at a time, at least one.

    Args:
        cores: Cores of a trial on each of its nodes.
        machine: All nodes.
        demand: GPUs and nodes of a trial.
    """

    def capacity(node: Node) -> int:
        by_cores = node.cpus // cores
        gpus = demand.gpus / demand.nodes
        if demand.shares_gpu:
            return min(by_cores, node.gpus * int(1 / gpus + 1e-9))
        return min(by_cores, int(node.gpus // gpus)) if gpus else by_cores

    capacities = [capacity(node) for node in machine.nodes]
    if demand.nodes > 1:
        # Each takes a part of so many nodes: a node has no two parts of a trial.
        count = sum(capacities) // demand.nodes
        while sum(min(each, count) for each in capacities) < count * demand.nodes:
            count -= 1
        return max(count, 1)
    return max(sum(capacities), 1)
