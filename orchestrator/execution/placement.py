"""Which machine there is, and how many cores of it a trial gets."""

from __future__ import annotations

import itertools
import os
import platform
from typing import Literal

from orchestrator.execution.cores import trial_cores, usable_cores
from orchestrator.sweep import NODE, Cores
from orchestrator.trainable import Demand, Machine, Node


def local_machine() -> Machine:
    """This machine, without its driver's core, and without asking Ray or torch."""
    cores, names = len(trial_cores()), gpu_names()
    node = Node(
        name=platform.node(),
        cpus=cores,
        gpus=len(names),
        gpu_name=names[0] if names else "",
        kept_cpus=len(usable_cores()) - cores,
    )
    return Machine(nodes=(node,))


def gpu_names() -> list[str]:
    """Names of the GPUs that may be used; none where there is no NVIDIA driver that answers."""
    import pynvml

    try:
        pynvml.nvmlInit()
        handles = map(pynvml.nvmlDeviceGetHandleByIndex, range(pynvml.nvmlDeviceGetCount()))
        names = [str(pynvml.nvmlDeviceGetName(handle)) for handle in handles]
    except pynvml.NVMLError:
        return []
    return names[: len(visible_gpus(len(names)))]


def visible_gpus(count: int) -> list[str]:
    """The GPUs of this node that may be used, as ``CUDA_VISIBLE_DEVICES`` names them.

    Args:
        count: How many the node has.
    """
    named = os.environ.get("CUDA_VISIBLE_DEVICES")
    if named is None:
        return [str(index) for index in range(count)]
    listed = [name.strip() for name in named.split(",")]
    return list(itertools.takewhile(lambda name: name not in ("", "-1"), listed))[:count]


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
