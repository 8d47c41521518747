"""Nodes: their fork servers, the driver's own or an actor's, and checks before the first trial."""

import os
import shutil
import tempfile
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

import ray
from ray.actor import ActorHandle
from ray.util.scheduling_strategies import NodeAffinitySchedulingStrategy

from orchestrator.errors import SweepError
from orchestrator.execution.process.fork_client import ServerError
from orchestrator.execution.process.fork_servers import ForkServers, server_key
from orchestrator.kernel.executor import Launch, Needs
from orchestrator.system.allocators import allocator_environment
from orchestrator.system.cgroup import keep_from_kernel

START_LIMIT_S: Final = 30.0
"""Longest wait for the driver to start the servers of a node that has just joined."""


# No CPU of Ray's: those are for trials, and this actor works only when it is asked.
@ray.remote(num_cpus=0)
class NodeServers:
    """Actor that owns a node's fork servers, so that they do not end with a trial."""

    def __init__(self, folder: str) -> None:
        """Prepare the driver's folder on this node, which is removed with the servers."""
        keep_from_kernel()
        self._place = Path(folder)
        # For this user alone: a fork server runs what any process asks of its socket.
        self._place.mkdir(mode=0o700, parents=True, exist_ok=True)
        # A separate one: servers of a killed actor remove their folder while Ray starts
        # the next actor; and on the driver's node the place has files of the driver.
        own = Path(tempfile.mkdtemp(prefix="s-", dir=self._place))
        self._servers = ForkServers(folder=own)

    def socket_for(self, allocator: str, modules: tuple[str, ...]) -> str:
        """Return the socket of a server, which is started where there is none."""
        return str(self._servers.socket_for(allocator, modules))

    def close(self) -> None:
        """End the servers, and remove all that the sweep has left on the node."""
        self._servers.close()
        shutil.rmtree(self._place, ignore_errors=True)


def node_servers(session: str, node_id: str, folder: str) -> ActorHandle[Any]:
    """Start the servers of a node for one sweep; they end with the process that calls this."""
    actor_class: Any = NodeServers
    actor: ActorHandle[Any] = actor_class.options(
        name=f"{session}-{node_id}",
        # On this node or not at all: its sockets cannot be reached from another.
        scheduling_strategy=NodeAffinitySchedulingStrategy(node_id, soft=False),
        # Ray restarts a killed actor, and repeats the calls to it.
        max_restarts=-1,
        max_task_retries=-1,
    ).remote(folder)
    return actor


@dataclass(frozen=True, kw_only=True)
class ServerWay:
    """Way from a sweep's actors to the fork servers of their node.

    Attributes:
        session: Names the sweep's :class:`NodeServers`.
        folder: Folder of the driver's own servers, which serve its own Ray. Empty on a cluster,
            where it keeps a :class:`NodeServers` on every node.
    """

    session: str
    folder: str

    def socket_for(self, launch: Launch) -> Path:
        """Return the socket of the server that ``launch`` needs, on this actor's node.

        Raises:
            ServerError: The node's :class:`NodeServers` has died, or is not there.
            LookupError: The allocator is not installed.
        """
        allocator, modules = launch.demand.allocator, launch.preload
        allocator_environment(allocator, os.environ)  # raises what keeps a server from it
        if self.folder:  # the driver starts another in place of one that has died
            return Path(self.folder, server_key(allocator, modules))
        asked: ray.ObjectRef[str] = self._node_servers().socket_for.remote(allocator, modules)
        try:
            return Path(ray.get(asked))
        except ray.exceptions.RayActorError as error:
            raise ServerError("the actor that holds the node's fork servers has died") from error

    def _node_servers(self) -> ActorHandle[Any]:
        """Return the servers of this node, which the driver starts as soon as it sees the node."""
        node_id = ray.get_runtime_context().get_node_id()
        deadline = time.monotonic() + START_LIMIT_S
        while True:
            try:
                actor: ActorHandle[Any] = ray.get_actor(f"{self.session}-{node_id}")
            except ValueError:
                if time.monotonic() > deadline:
                    message = "the driver has started no fork servers on this node"
                    raise ServerError(message) from None
                time.sleep(0.2)
            else:
                return actor


# -- checks before the first trial


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


def problems_of_nodes(needs: Needs) -> Sequence[str]:
    """Return the problems of the cluster's nodes, each with its node's name.

    A node without a converted copy of the data converts the data now: all nodes do so at the
    same time.
    """
    task: Any = _problem
    asked = {}
    for node in ray.nodes():
        if node["Alive"] and node["Resources"].get("CPU"):
            there = NodeAffinitySchedulingStrategy(node["NodeID"], soft=False)
            answer = task.options(scheduling_strategy=there).remote(needs)
            asked[answer] = node["NodeManagerHostname"]
    return [f"{name}: {text}" for answer, name in asked.items() if (text := _answered(answer))]


def _answered(answer: ray.ObjectRef[str]) -> str:
    try:
        return ray.get(answer)
    except ray.exceptions.RayError as error:
        return (str(error).strip().splitlines() or [type(error).__name__])[-1]
