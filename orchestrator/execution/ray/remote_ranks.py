"""Ranks of a trial on other nodes: one actor a node.

Each node has one bundle of the trial's placement group. Tune's actor has the first: it starts the
ranks of the first node itself.
"""

import os
from dataclasses import replace
from typing import Any, Final

import ray
from ray.actor import ActorHandle
from ray.util.scheduling_strategies import PlacementGroupSchedulingStrategy

from orchestrator.execution.leases import CoreLeases, Lease
from orchestrator.execution.process.fork_client import ForkedProcess, RankEnd, ServerError
from orchestrator.execution.process.ranks import (
    LOOPBACK,
    RankProcess,
    cores_of_rank,
    gpus_of_ranks,
    interface_of,
)
from orchestrator.execution.ray.nodes import ServerWay
from orchestrator.execution.supervision.attempt import Host
from orchestrator.kernel.executor import Launch, Rank
from orchestrator.system.gpus import in_full

LEASE_S: Final = 60.0
"""Longest wait for cores of another node, while the cores of the first are leased."""

_KILLED = -9


class RanksLost(RuntimeError):
    """The actor of a trial's ranks on another node has died, perhaps with its node.

    No :class:`ServerError`: another attempt needs other nodes, which the driver finds.
    """


@ray.remote(num_cpus=0)
class NodeRanks:
    """The ranks of a trial on one of its nodes."""

    def __init__(self) -> None:
        """Begin without a rank."""
        self._lease: Lease | None = None
        self._processes: dict[int, ForkedProcess] = {}

    def place(self) -> tuple[str, list[str]]:
        """Return the node's host name, and the GPUs that Ray gave to this bundle."""
        return os.uname().nodename, gpus_of_actor()

    def start(self, launch: Launch, rank: Rank, way: ServerWay) -> None:
        """Start a rank's training process."""
        if self._lease is None:
            leases = CoreLeases()
            self._lease = leases.acquire(launch.num_cores, launch.isolation, timeout_s=LEASE_S)
            if self._lease is None:
                what = leases.what_for(launch.num_cores)
                raise ServerError(f"on {os.uname().nodename} it waits for {what}")
        here = launch.demand.ranks // launch.demand.nodes
        bound, num_cores = cores_of_rank(self._lease, rank.index % here, here)
        interface = interface_of(ray.util.get_node_ip_address())
        own = replace(rank, cores=bound, num_cores=num_cores, interface=interface)
        self._processes[rank.index] = ForkedProcess(way.socket_for(launch), launch, own)

    def end(self, index: int) -> RankEnd | None:
        """Return the way a rank has ended, or None while it runs."""
        return self._processes[index].end()

    def hang_up(self, index: int) -> None:
        """Kill a rank and what it started."""
        self._processes.pop(index).hang_up()
        if not self._processes and self._lease is not None:
            self._lease.release()
            self._lease = None


class RemoteRank:
    """A rank on another node, as its supervisor sees it.

    Attributes:
        pid: 0, since nothing here may look at the process.
    """

    pid = 0

    def __init__(self, actor: ActorHandle[Any], index: int) -> None:
        """Follow a rank that ``actor`` has started."""
        self._actor, self._index = actor, index
        self._answer: ray.ObjectRef[RankEnd | None] | None = None
        self._end: RankEnd | None = None

    def end(self) -> RankEnd | None:
        """Return the way it has ended, or None while it runs or no answer has come.

        It never waits: the supervisor also follows rank 0.
        """
        if self._end is not None:
            return self._end
        if self._answer is None:
            self._answer = self._actor.end.remote(self._index)
        if not ray.wait([self._answer], timeout=0)[0]:
            return None
        try:
            self._end = ray.get(self._answer)
        except ray.exceptions.RayError:
            self._end = RankEnd(code=_KILLED)  # the rank dies with its actor
        self._answer = None
        return self._end

    def hang_up(self) -> None:
        """Kill the rank; its actor stays, for the trial's next attempt."""
        # Not waited for: an actor takes calls in order, so the next attempt starts behind it.
        self._actor.hang_up.remote(self._index)


class Nodes(Host):
    """The nodes of a launch: this one, and others, on which actors start the ranks."""

    def __init__(self, launch: Launch, way: ServerWay) -> None:
        """Start an actor on each of the other nodes, and wait for them.

        Raises:
            RanksLost: One of them has died.
        """
        demand, self._way = launch.demand, way
        self._here = demand.ranks // demand.nodes
        gpus = demand.gpus / demand.nodes
        self._actors = [_start_actor(index, launch, gpus) for index in range(1, demand.nodes)]
        try:
            places: list[tuple[str, list[str]]] = ray.get(
                [each.place.remote() for each in self._actors]
            )
        except ray.exceptions.RayActorError as error:
            raise RanksLost("its ranks on another node died as they were started") from error
        self._names = [os.uname().nodename, *(name for name, _ in places)]
        super().__init__(
            leases=CoreLeases(),
            server=way.socket_for,
            gpus=gpus_of_ranks([gpus_of_actor(), *(gpus for _, gpus in places)], self._here),
            address=ray.util.get_node_ip_address() if places else LOOPBACK,
            name="+".join(self._names),
        )

    def start(self, launch: Launch, rank: Rank) -> RankProcess:
        """Start a rank other than 0 on its node.

        Raises:
            RanksLost: The actor there has died.
            ServerError: It gets no cores, or no process from its fork server.
        """
        node = rank.index // self._here
        if node == 0:
            return super().start(launch, rank)
        actor = self._actors[node - 1]
        started: ray.ObjectRef[None] = actor.start.remote(launch, rank, self._way)
        try:
            ray.get(started)
        except ray.exceptions.RayActorError as error:
            raise RanksLost(f"its ranks on node {self._names[node]} died") from error
        except ray.exceptions.RayTaskError as error:
            raise ServerError(f"rank {rank.index}: {error.cause}") from error
        return RemoteRank(actor, rank.index)

    def close(self) -> None:
        """End the actors on the other nodes."""
        while self._actors:
            ray.kill(self._actors.pop())


def _start_actor(bundle: int, launch: Launch, gpus: float) -> ActorHandle[Any]:
    """Start an actor in a bundle of the calling actor's placement group."""
    group = ray.util.get_current_placement_group()
    assert group is not None, "Tune places every trial in a group"
    there = PlacementGroupSchedulingStrategy(group, placement_group_bundle_index=bundle)
    actor_class: Any = NodeRanks
    actor: ActorHandle[Any] = actor_class.options(
        num_cpus=launch.num_cores, num_gpus=gpus, scheduling_strategy=there
    ).remote()
    return actor


def gpus_of_actor() -> list[str]:
    """Return the GPUs that Ray gave to this process's actor, by their full identifiers."""
    return in_full([str(gpu) for gpu in ray.get_gpu_ids()])
