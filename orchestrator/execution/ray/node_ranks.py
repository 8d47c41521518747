"""Ranks of a trial on its other nodes: an actor each node, with cores leased there.

A node has one bundle of the trial's group. Tune's actor holds that of the first node, whose ranks
its supervisor starts itself.
"""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import asdict, replace
from typing import Any, Final

import ray
from ray.actor import ActorHandle
from ray.util.scheduling_strategies import PlacementGroupSchedulingStrategy

from orchestrator.execution.base import Launch, Rank
from orchestrator.execution.leases import CoreLeases, Lease
from orchestrator.execution.process.fork_client import ForkedProcess, ServerError
from orchestrator.execution.process.ranks import RankEnd, cores_of_rank, request
from orchestrator.execution.ray.node_servers import ServerWay
from orchestrator.execution.ray.rank_actors import RemoteProcess, gpus_of_actor
from orchestrator.system.network import interface_of

LEASE_S: Final = 60.0
"""Longest wait for cores of another node, while those of the first are held."""


class RanksLost(RuntimeError):
    """The actor of a trial's ranks on another node has died, perhaps with its node.

    No :class:`ServerError`: another attempt needs other nodes, which the driver finds.
    """


@ray.remote(num_cpus=0)
class NodeRanks:
    """The ranks of a trial on one of its nodes."""

    def __init__(self) -> None:
        """Start none."""
        self._lease: Lease | None = None
        self._processes: dict[int, ForkedProcess] = {}

    def place(self) -> tuple[str, list[str]]:
        """Return the node's host name, and the GPUs that Ray gave to this bundle."""
        return os.uname().nodename, gpus_of_actor()

    def start(self, launch: dict[str, Any], rank: dict[str, Any], way: ServerWay) -> int:
        """Start a rank's training process; return its id."""
        started, asked = Launch.from_json(launch), Rank(**rank)
        lease = self._leased(started)
        here = started.demand.ranks // started.demand.nodes
        cores = cores_of_rank(lease, asked.index % here, here)
        interface = interface_of(ray.util.get_node_ip_address())
        own = replace(asked, cores=cores.bound, num_cores=cores.count, interface=interface)
        process = ForkedProcess(way.socket_for(started), request(started, own))
        self._processes[asked.index] = process
        return process.pid

    def end(self, index: int) -> RankEnd | None:
        """Return the way a rank has ended, or None while it runs."""
        return self._processes[index].end()

    def hang_up(self, index: int) -> None:
        """Kill a rank and what it started."""
        self._processes.pop(index).hang_up()
        if not self._processes and self._lease is not None:
            self._lease.release()
            self._lease = None

    def _leased(self, launch: Launch) -> Lease:
        if self._lease is None:
            leases = CoreLeases()
            self._lease = leases.acquire(launch.num_cores, launch.isolation, timeout_s=LEASE_S)
            if self._lease is None:
                what = leases.what_for(launch.num_cores)
                raise ServerError(f"on {os.uname().nodename} it waits for {what}")
        return self._lease


class OtherNodes:
    """The nodes of a trial other than its first, as its supervisor sees them."""

    def __init__(self, launch: Launch) -> None:
        """Start an actor on each, and wait for them.

        Raises:
            RanksLost: One of them has died.
        """
        self.actors = [_start_actor(index, launch) for index in range(1, launch.demand.nodes)]
        try:
            places: list[tuple[str, list[str]]] = ray.get(
                [each.place.remote() for each in self.actors]
            )
        except ray.exceptions.RayActorError as error:
            raise RanksLost("its ranks on another node died as they were started") from error
        self.names = [name for name, _ in places]
        self._here = launch.demand.ranks // launch.demand.nodes
        self._gpus = [gpus_of_actor(), *(gpus for _, gpus in places)]

    def has(self, rank: int) -> bool:
        """Return True if a rank is on one of these."""
        return rank >= self._here

    def start(self, launch: Launch, rank: Rank, way: ServerWay) -> RemoteProcess:
        """Start a rank on its node.

        Raises:
            RanksLost: The actor there has died.
            ServerError: It gets no cores, or no process from its fork server.
        """
        actor = self.actors[rank.index // self._here - 1]
        started: ray.ObjectRef[int] = actor.start.remote(launch.to_json(), asdict(rank), way)
        try:
            ray.get(started)
        except ray.exceptions.RayActorError as error:
            where = self.names[rank.index // self._here - 1]
            raise RanksLost(f"its ranks on node {where} died") from error
        except ray.exceptions.RayTaskError as error:
            raise ServerError(f"rank {rank.index}: {error.cause}") from error
        return RemoteProcess(
            pid=0,  # of another node: nothing here may look at it
            ask=lambda: actor.end.remote(rank.index),
            hang_up=lambda: actor.hang_up.remote(rank.index),
        )

    def gpus(self) -> Sequence[Sequence[str]]:
        """Return the GPUs of each rank of all nodes, the first included."""
        return gpus_of_ranks(self._gpus, self._here)


def gpus_of_ranks(nodes: Sequence[Sequence[str]], ranks: int) -> list[Sequence[str]]:
    """Return the GPUs of each rank.

    Args:
        nodes: GPUs of each node.
        ranks: Number of ranks on each.
    """
    return [
        gpus[len(gpus) // ranks * index : len(gpus) // ranks * (index + 1)]
        for gpus in nodes
        for index in range(ranks)
    ]


def _start_actor(node: int, launch: Launch) -> ActorHandle[Any]:
    """Start the actor of another node, from within the actor of the first."""
    group = ray.util.get_current_placement_group()
    assert group is not None, "Tune places every trial in a group"
    actor_class: Any = NodeRanks
    actor: ActorHandle[Any] = actor_class.options(
        num_cpus=launch.num_cores,
        num_gpus=launch.demand.gpus // launch.demand.nodes,
        scheduling_strategy=PlacementGroupSchedulingStrategy(
            group, placement_group_bundle_index=node
        ),
    ).remote()
    return actor
