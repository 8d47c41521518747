"""A node's fork servers: the driver's own, or those of an actor on a node of a cluster."""

from __future__ import annotations

import sys
import time
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

import ray
from ray.actor import ActorHandle
from ray.util.scheduling_strategies import NodeAffinitySchedulingStrategy

from orchestrator.execution.base import Launch
from orchestrator.execution.process.fork_client import ServerError, has_ended
from orchestrator.execution.process.fork_servers import ForkServers, server_key
from orchestrator.system.memory import keep_from_kernel

RESTART_LIMIT_S: Final = 10.0
"""Longest wait for the driver, which looks after its servers several times a second."""


# No CPU of Ray's: those are for trials, and this actor works only when it is asked.
@ray.remote(num_cpus=0)
class NodeServers:
    """Actor that holds a node's fork servers, so that no trial's end takes them along."""

    def __init__(self, folder: str) -> None:
        """Prepare the driver's folder on this node; no server is started yet.

        Args:
            folder: The driver's folder, on this node: trials write below it. It goes with the
                servers, unless this actor is killed.
        """
        keep_from_kernel()
        place = Path(folder)
        # For this user alone: a fork server runs what any process asks of its socket.
        place.mkdir(mode=0o700, parents=True, exist_ok=True)
        # Ray has put the project's code on this actor's import path; a server inherits none of it.
        self._servers = ForkServers(folder=place, python_path=[path for path in sys.path if path])

    def socket_for(self, allocator: str, modules: tuple[str, ...]) -> str:
        """Return the socket of a server, which is started where there is none."""
        return str(self._servers.socket_for(allocator, modules))

    def close(self) -> None:
        """End the servers, and remove all that the sweep has left on the node."""
        self._servers.close()


def node_servers(session: str, node_id: str, folder: str) -> ActorHandle[Any]:
    """Return the servers of a node for one sweep; they are made where they do not exist yet."""
    actor_class: Any = NodeServers
    actor: ActorHandle[Any] = actor_class.options(
        name=f"{session}-{node_id}",
        get_if_exists=True,
        # On this node or not at all: its sockets cannot be reached from another.
        scheduling_strategy=NodeAffinitySchedulingStrategy(node_id, soft=False),
    ).remote(folder)
    return actor


@dataclass(frozen=True, kw_only=True)
class ServerWay:
    """Way from a sweep's actors to the fork servers of their node.

    Attributes:
        session: Names the sweep's :class:`NodeServers`.
        folder: The driver's own folder, which every node has under the same path.
        ready: Sockets, by key, of servers that the driver started itself, which it does where
            Ray is its own. Elsewhere it holds a :class:`NodeServers` on every node.
    """

    session: str
    folder: str
    ready: Mapping[str, str]

    def socket_for(self, launch: Launch) -> Path:
        """Return the socket of the server that ``launch`` needs, on this actor's node.

        Raises:
            ServerError: The node's :class:`NodeServers` has died.
        """
        allocator, modules = launch.demand.allocator, launch.preload
        ready = self.ready.get(server_key(allocator, modules))
        if ready is not None:
            _await_restart(Path(ready))
            return Path(ready)
        node_id = ray.get_runtime_context().get_node_id()
        servers = node_servers(self.session, node_id, self.folder)
        asked: ray.ObjectRef[str] = servers.socket_for.remote(allocator, modules)
        try:
            return Path(ray.get(asked))
        except ray.exceptions.RayActorError as error:
            raise ServerError("the actor that holds the node's fork servers has died") from error


def _await_restart(path: Path) -> None:
    """Wait until the driver has started another server in the place of one that has died.

    No other process may: the folder of the sockets goes with the servers' one owner.
    """
    deadline = time.monotonic() + RESTART_LIMIT_S
    while has_ended(path) and time.monotonic() < deadline:
        time.sleep(0.1)
