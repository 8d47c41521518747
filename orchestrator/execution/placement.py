"""Which machine there is, and how many cores of it a trial gets."""

from __future__ import annotations

import platform
from typing import Literal

from orchestrator.execution.cores import usable_cores
from orchestrator.sweep import NODE, Cores
from orchestrator.trainable import Demand, Machine, Node

DRIVER_FROM_CORES = 4
"""From this many cores up, one is kept for the driver and for Ray."""


def local_machine() -> Machine:
    """This machine, without its driver's core, and without asking Ray or torch."""
    cores = len(usable_cores())
    names = gpu_names()
    node = Node(
        name=platform.node(),
        cpus=cores - 1 if cores >= DRIVER_FROM_CORES else cores,
        gpus=len(names),
        gpu_name=names[0] if names else "",
    )
    return Machine(nodes=(node,))


def gpu_names() -> list[str]:
    """Names of the GPUs of this node; none where there is no NVIDIA driver."""
    import pynvml

    try:
        pynvml.nvmlInit()
    except pynvml.NVMLError:
        return []
    try:
        handles = map(pynvml.nvmlDeviceGetHandleByIndex, range(pynvml.nvmlDeviceGetCount()))
        return [str(pynvml.nvmlDeviceGetName(handle)) for handle in handles]
    finally:
        pynvml.nvmlShutdown()


def cores_of_trial(asked: int | Literal[Cores.NODE], machine: Machine) -> int:
    """Cores of every trial of a sweep: what was asked, at most the node, at least one.

    ``NODE`` is the whole node, or its part per GPU where it has several.
    """
    if asked is NODE:
        return max(machine.cpus // max(machine.gpus, 1), 1)
    return min(asked, machine.cpus)


def trials_at_once(cores: int, machine: Machine, demand: Demand) -> int:
    """How many trials with ``demand`` the machine holds at the same time."""

    def held(node: Node) -> int:
        by_cores = node.cpus // cores
        return min(by_cores, node.gpus // demand.gpus) if demand.gpus else by_cores

    return max(sum(held(node) for node in machine.nodes), 1)
