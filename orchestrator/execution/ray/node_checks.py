"""Checks of a cluster's nodes before the first trial: each can load the sweep and open its data."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, Final

import ray
from ray.util.scheduling_strategies import NodeAffinitySchedulingStrategy

from orchestrator.errors import SweepError
from orchestrator.execution.ray.apart import Abandoned
from orchestrator.kernel.executor import Needs

LOOK_S: Final = 0.5
"""How often it is asked whether the answers are waited for any longer."""


# In a fresh process, which ends with it: it has imported all that the sweep file does.
@ray.remote(num_cpus=0, max_calls=1, max_retries=0)
def _problem(needs: Needs) -> str:
    """Return why this node cannot run the trials, or an empty string."""
    # Here: it imports torch, which the driver does not need.
    from orchestrator.execution.process.child import data_here, find_trainable

    try:
        trainable = find_trainable(needs.source)
        if needs.data:
            data_here(trainable, needs)
    except SweepError as error:
        return str(error)
    except OSError as error:
        return f"{type(error).__name__}: {error}"
    return ""


def problems_of_nodes(needs: Needs, is_over: Callable[[], bool] = lambda: False) -> Sequence[str]:
    """Return the problems of the cluster's nodes, each with its node's name.

    Where a node has no converted copy of the data yet, it is converted now: by all nodes at the
    same time.

    Args:
        needs: What each node needs.
        is_over: Whether the answers are no longer needed, or Ray has died.

    Raises:
        Abandoned: It is over.
    """
    asked = {}
    for node in ray.nodes():
        if node["Alive"] and node["Resources"].get("CPU"):
            there = NodeAffinitySchedulingStrategy(node["NodeID"], soft=False)
            remote: Any = _problem
            answer = remote.options(scheduling_strategy=there).remote(needs)
            asked[answer] = node["NodeManagerHostname"]
    waiting = list(asked)
    while waiting:
        if is_over():
            raise Abandoned
        _, waiting = ray.wait(waiting, num_returns=len(waiting), timeout=LOOK_S)
    return [f"{name}: {text}" for answer, name in asked.items() if (text := _answered(answer))]


def _answered(answer: ray.ObjectRef[str]) -> str:
    try:
        return ray.get(answer)
    except ray.exceptions.RayError as error:
        return (str(error).strip().splitlines() or [type(error).__name__])[-1]
