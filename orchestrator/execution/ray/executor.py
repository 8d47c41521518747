"""The Ray executor: a local Ray or an existing cluster, its nodes and their fork servers."""

from __future__ import annotations

import atexit
import os
import time
import uuid
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import ray
from ray.actor import ActorHandle

from orchestrator.execution.process.fork_servers import ForkServers
from orchestrator.execution.ray.connection import (
    TUNE_SETTINGS,
    cluster_machine,
    connect,
    shut_down,
)
from orchestrator.execution.ray.local_ray import start_local
from orchestrator.execution.ray.nodes import ServerWay, node_servers, problems_of_nodes
from orchestrator.execution.ray.tuner import run_tuner
from orchestrator.execution.ray.watchdog import Processes, Watched
from orchestrator.kernel.executor import Conductor, Executor, Launch, Needs
from orchestrator.machine import Machine
from orchestrator.system.private_folder import private_folder

LOOK_EVERY_S = 2.0
"""How often the driver asks a cluster for its nodes."""

CLOSE_LIMIT_S = 5.0
"""How long the nodes of a cluster may take to end their fork servers."""


class RayExecutor(Executor):
    """Executor that runs trials through Ray Tune, here or on an existing cluster."""

    def __init__(
        self,
        *,
        address: str | None = None,
        max_concurrent: int | None = None,
        runtime_env: dict[str, Any] | None = None,
        preload: Sequence[tuple[str, tuple[str, ...]]] = (),
        folder: Path | None = None,
        servers: ForkServers | None = None,
        is_over: Callable[[], bool] = lambda: False,
    ) -> None:
        """Start a local Ray, or connect to the cluster at ``address``.

        Args:
            address: Address of an existing cluster, or None for one of our own.
            max_concurrent: Most trials at the same time, or None for what fits.
            runtime_env: Runtime environment that brings the project's code to the workers.
            preload: Allocators and modules of fork servers to start now.
            folder: The driver's, removed at the end; on a cluster every node has the same.
            servers: This machine's fork servers, which may have been started before.
            is_over: Whether a local Ray that is starting is no longer needed.

        Raises:
            ConnectionError: There is no cluster at ``address``.
            CannotStart: A local Ray does not come up.
        """
        self._folder = folder or private_folder()
        self._own_servers = servers or ForkServers(folder=self._folder)  # without the settings
        os.environ.update(TUNE_SETTINGS)
        self._release: Callable[[], None] = lambda: None
        self._session = f"sweep-{uuid.uuid4().hex[:8]}"
        self._max_concurrent = max_concurrent
        self._owns_cluster = address is None
        self._preload = preload
        self._servers: dict[str, ActorHandle[Any]] = {}
        self._resources: dict[str, float] = {}
        self._looked_at = float("-inf")
        if address is None:
            # The servers first: they import while Ray comes up.
            self._own_servers.warm(preload)
            self._release = start_local(self._folder, is_over=is_over)
        else:
            connect(address, runtime_env)
        self._processes = Processes(is_our_own=self._owns_cluster)
        self._watched = Watched(self._processes)
        self._follow_nodes()

    def machine(self) -> Machine:
        """Return the cluster's nodes that are alive."""
        return cluster_machine(is_our_own=self._owns_cluster)

    def problems_of_nodes(self, needs: Needs) -> Sequence[str]:
        """Return why nodes could not run the trials; our own node is the driver's, and can.

        Raises:
            ExecutorLost: A process of Ray has died.
        """
        if self._owns_cluster:
            return ()
        found: list[str] = []
        watched = self._watched = Watched(self._processes)
        watched.run(lambda: found.extend(problems_of_nodes(needs, watched.is_over)))
        return found

    def run(self, conductor: Conductor) -> None:
        """Run everything that ``conductor`` hands out.

        Raises:
            ExecutorLost: A process of Ray has died.
        """
        watched = self._watched = Watched(self._processes)
        watched.run(
            lambda: run_tuner(
                conductor,
                self._way,
                keep_up=self._keep_up,
                is_over=watched.is_over,
                cluster=self._resources,
                name=self._session,
                results=self._folder / "tune",
                max_concurrent=self._max_concurrent,
            )
        )

    def _way(self, launch: Launch) -> ServerWay:
        """Return the way to the server for ``launch``, started by the driver if Ray is our own.

        An actor that a supervisor starts ends with that supervisor, and its servers with it.
        """
        wanted = [(launch.demand.allocator, launch.preload)] if self._owns_cluster else []
        return ServerWay(session=self._session, ready=self._own_servers.warm(wanted))

    def _keep_up(self) -> None:
        """Keep up the fork servers; on a cluster, also on nodes that have joined."""
        self._own_servers.keep_up()
        if not self._owns_cluster and time.monotonic() >= self._looked_at + LOOK_EVERY_S:
            self._follow_nodes()

    def _follow_nodes(self) -> None:
        """Update the nodes of the cluster; start fork servers on nodes without them."""
        self._looked_at = time.monotonic()
        self._resources.clear()
        self._resources |= ray.cluster_resources()
        if self._owns_cluster:
            return
        for node_id in {node["NodeID"] for node in ray.nodes() if node["Alive"]}:
            if node_id not in self._servers:
                # Not waited for.
                servers = node_servers(self._session, node_id, str(self._folder))
                for allocator, modules in self._preload:
                    servers.socket_for.remote(allocator, modules)
                self._servers[node_id] = servers

    def close(self) -> None:
        """End the node servers, and the local Ray if it is our own."""
        if self._processes.lost() or self._watched.is_stuck:
            # Without a call of Ray, which could wait for ever.
            self._processes.kill()
            atexit.unregister(ray.shutdown)
        elif ray.is_initialized():
            self._close_servers()
            shut_down()
        self._release()
        self._processes.close()
        self._own_servers.close()

    def _close_servers(self) -> None:
        everywhere = list(self._servers.values())
        closing: list[ray.ObjectRef[None]] = [servers.close.remote() for servers in everywhere]
        if closing:  # with a limit: a node that has gone does not answer
            ray.wait(closing, num_returns=len(closing), timeout=CLOSE_LIMIT_S)
        for servers in everywhere:
            ray.kill(servers)
