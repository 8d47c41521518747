"""A node's fork servers: the driver's own, or those of an actor on a node of a cluster."""

from __future__ import annotations

import os
import shutil
import sys
import tempfile
import time
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from threading import Event, Lock, Thread
from typing import Any, Final

import ray
from ray.actor import ActorHandle
from ray.util.scheduling_strategies import NodeAffinitySchedulingStrategy

from orchestrator.execution.process.fork_client import ServerError, has_ended
from orchestrator.execution.process.fork_servers import ForkServers, server_key
from orchestrator.kernel.executor import Launch
from orchestrator.system.allocators import allocator_environment
from orchestrator.system.memory import keep_from_kernel
from orchestrator.system.private_folder import make_private

RESTART_LIMIT_S: Final = 10.0
"""Longest wait for the driver, which looks after its servers several times a second."""

START_LIMIT_S: Final = 30.0
"""Longest wait for the driver to start the servers of a node that has just joined."""

LOOK_S: Final = 2.0
"""Period at which the servers of a node are kept up."""

CLOCK_TRIES, CLOCK_LIMIT_S = 3, 5.0
"""How often the driver's clock is asked, and how long for at most. The fastest answer counts."""


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
        self._place = Path(folder)
        # For this user alone: a fork server runs what any process asks of its socket.
        make_private(self._place)
        # A separate one: servers whose actor was killed remove theirs, while Ray starts
        # the next actor; and on the driver's node the place has files of the driver.
        own = Path(tempfile.mkdtemp(prefix="s-", dir=self._place))
        # Ray has put the project's code on this actor's import path; a server inherits none of it.
        self._servers = ForkServers(folder=own, python_path=[path for path in sys.path if path])
        self._lock, self._closing = Lock(), Event()
        Thread(target=self._look_after, daemon=True).start()

    def socket_for(self, allocator: str, modules: tuple[str, ...]) -> str:
        """Return the socket of a server, which is started where there is none."""
        with self._lock:
            return str(self._servers.socket_for(allocator, modules))

    def _look_after(self) -> None:
        """Start servers again that have died."""
        while not self._closing.wait(LOOK_S):
            with self._lock, suppress(OSError):  # one that cannot be started now, may be later
                self._servers.keep_up()

    def now(self) -> float:
        """Return the Unix time by this node's clock."""
        return time.time()

    def close(self) -> None:
        """End the servers, and remove all that the sweep has left on the node."""
        self._closing.set()
        with self._lock:
            self._servers.close()
        shutil.rmtree(self._place, ignore_errors=True)


def node_servers(session: str, node_id: str, folder: str) -> ActorHandle[Any]:
    """Start the servers of a node for one sweep; they end with the process that calls this."""
    actor_class: Any = NodeServers
    actor: ActorHandle[Any] = actor_class.options(
        name=_name(session, node_id),
        # On this node or not at all: its sockets cannot be reached from another.
        scheduling_strategy=NodeAffinitySchedulingStrategy(node_id, soft=False),
        # One that was killed is started again by Ray, and what was asked of it is asked again.
        max_restarts=-1,
        max_task_retries=-1,
    ).remote(folder)
    return actor


def existing_servers(session: str, node_id: str) -> ActorHandle[Any]:
    """Return the servers of a node, which the driver starts as soon as it sees the node.

    Raises:
        ServerError: It has not started any.
    """
    deadline = time.monotonic() + START_LIMIT_S
    while True:
        try:
            actor: ActorHandle[Any] = ray.get_actor(_name(session, node_id))
        except ValueError:
            if time.monotonic() > deadline:
                raise ServerError("the driver has started no fork servers on this node") from None
            time.sleep(0.2)
        else:
            return actor


def _name(session: str, node_id: str) -> str:
    return f"{session}-{node_id}"


@dataclass(frozen=True, kw_only=True)
class ServerWay:
    """Way from a sweep's actors to the fork servers of their node.

    Attributes:
        session: Names the sweep's :class:`NodeServers`.
        folder: The driver's own folder, which every node has under the same path.
        ready: Sockets, by key, of servers that the driver started itself, which it does where
            Ray is its own. Elsewhere it holds a :class:`NodeServers` on every node.
        driver_node: Ray's id of the driver's node, whose clock the run goes by; empty where there
            is no other node.
    """

    session: str
    folder: str
    ready: Mapping[str, str]
    driver_node: str = ""

    def socket_for(self, launch: Launch) -> Path:
        """Return the socket of the server that ``launch`` needs, on this actor's node.

        Raises:
            ServerError: The node's :class:`NodeServers` has died.
            LookupError: The allocator is not installed.
        """
        allocator, modules = launch.demand.allocator, launch.preload
        ready = self.ready.get(server_key(allocator, modules))
        if ready is not None:
            _await_restart(Path(ready))
            return Path(ready)
        if not self.driver_node:
            allocator_environment(allocator, os.environ)  # raises what kept the driver from it
            raise ServerError("the driver has started no such fork server")
        node_id = ray.get_runtime_context().get_node_id()
        servers = existing_servers(self.session, node_id)
        asked: ray.ObjectRef[str] = servers.socket_for.remote(allocator, modules)
        try:
            return Path(ray.get(asked))
        except ray.exceptions.RayActorError as error:
            raise ServerError("the actor that holds the node's fork servers has died") from error

    def clock_ahead_s(self) -> float:
        """Return by how many seconds this node's clock is ahead of the driver's."""
        if self.driver_node in ("", ray.get_runtime_context().get_node_id()):
            return 0.0
        try:
            servers = existing_servers(self.session, self.driver_node)
            return _clock_ahead_s(lambda: _now(servers))
        except (ServerError, ray.exceptions.RayError):
            return 0.0  # the sweep is about to end, and its times are of no use any more


def _now(servers: ActorHandle[Any]) -> float:
    answer: ray.ObjectRef[float] = servers.now.remote()
    return ray.get(answer, timeout=CLOCK_LIMIT_S)


def _clock_ahead_s(there: Callable[[], float]) -> float:
    """Return by how much this clock is ahead of one that takes a while to answer."""
    answers = []
    for _ in range(CLOCK_TRIES):
        began, asked_at = time.monotonic(), time.time()
        answer = there()
        took_s = time.monotonic() - began
        answers.append((took_s, asked_at + took_s / 2 - answer))
    return min(answers)[1]


def _await_restart(path: Path) -> None:
    """Wait until the driver has started another server in the place of one that has died.

    No other process may: the folder of the sockets goes with the servers' one owner.
    """
    deadline = time.monotonic() + RESTART_LIMIT_S
    while has_ended(path) and time.monotonic() < deadline:
        time.sleep(0.1)
