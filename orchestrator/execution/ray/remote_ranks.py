"""Ranks of a trial in other actors: one actor a rank, on several nodes one actor a node.

Each actor has one bundle of the trial's placement group. Tune's actor has the first: rank 0, on
several nodes all ranks of the first node.
"""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any, Final

import ray
from ray.actor import ActorHandle
from ray.util.scheduling_strategies import PlacementGroupSchedulingStrategy

from orchestrator.execution.leases import CoreLeases, Lease
from orchestrator.execution.process.fork_client import ForkedProcess, ServerError
from orchestrator.execution.process.ranks import RankEnd, cores_of_rank, interface_of, request
from orchestrator.execution.ray.node_servers import ServerWay
from orchestrator.kernel.executor import Launch, Rank
from orchestrator.system.gpus import in_full

POLL_S = 1.0
"""A rank's actor is asked this often at most whether the rank has ended."""

LEASE_S: Final = 60.0
"""Longest wait for cores of another node, while those of the first are held."""

_KILLED = -9
_CPU_UNITS = 10_000


@ray.remote(num_cpus=0)
class RankActor:
    """A rank other than 0."""

    _process: ForkedProcess

    def gpus(self) -> list[str]:
        """Return the GPUs that Ray gave to this bundle."""
        return gpus_of_actor()

    def start(self, launch: Launch, rank: Rank, way: ServerWay) -> int:
        """Start the rank's training process on this actor's node; return its id."""
        self._process = ForkedProcess(way.socket_for(launch), request(launch, rank))
        return self._process.pid

    def end(self) -> RankEnd | None:
        """Return the way it has ended, or None while it runs."""
        return self._process.end()

    def hang_up(self) -> None:
        """Kill the rank and what it started."""
        self._process.hang_up()


class ActorDied(ServerError):
    """The actor of a rank has died."""


class RemoteProcess:
    """A process that another actor has started, as a supervisor sees it.

    Attributes:
        pid: Its process id; 0 on another node.
    """

    def __init__(
        self,
        *,
        pid: int,
        ask: Callable[[], ray.ObjectRef[RankEnd | None]],
        hang_up: Callable[[], None],
    ) -> None:
        """Follow a process.

        Args:
            pid: Its process id.
            ask: Asks its actor for the way it has ended.
            hang_up: Tells its actor to kill it.
        """
        self.pid = pid
        self._ask, self._hang_up = ask, hang_up
        self._answer: ray.ObjectRef[RankEnd | None] | None = None
        self._asked_at = 0.0
        self._end: RankEnd | None = None

    def end(self) -> RankEnd | None:
        """Return the way it has ended, or None while it runs or no answer has come.

        It never waits: the supervisor has rank 0 to listen to.
        """
        if self._end is not None:
            return self._end
        if self._answer is None:
            if time.monotonic() - self._asked_at < POLL_S:
                return None
            self._asked_at = time.monotonic()
            self._answer = self._ask()
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
        self._hang_up()


class RemoteRank(RemoteProcess):
    """A rank in another actor, as its supervisor sees it."""

    def __init__(self, actor: ActorHandle[Any], launch: Launch, rank: Rank, way: ServerWay) -> None:
        started: ray.ObjectRef[int] = actor.start.remote(launch, rank, way)
        try:
            pid = int(ray.get(started))
        except ray.exceptions.RayActorError as error:
            raise ActorDied(f"the actor of rank {rank.index} has died") from error
        super().__init__(pid=pid, ask=actor.end.remote, hang_up=actor.hang_up.remote)


def start_rank_actor(index: int, launch: Launch) -> ActorHandle[Any]:
    """Start the actor of rank ``index``, from within the actor of rank 0."""
    demand = launch.demand
    cpus = cpus_of_ranks(launch.num_cores, demand.ranks)[index]
    return _start_actor(RankActor, index, cpus=cpus, gpus=demand.gpus // demand.ranks)


def _start_actor(actor_class: Any, bundle: int, *, cpus: float, gpus: int) -> ActorHandle[Any]:  # noqa: ANN401 - a class that Ray has wrapped
    """Start an actor in a bundle of the placement group of the actor that this is called in."""
    group = ray.util.get_current_placement_group()
    assert group is not None, "Tune places every trial in a group"
    there = PlacementGroupSchedulingStrategy(group, placement_group_bundle_index=bundle)
    actor: ActorHandle[Any] = actor_class.options(
        num_cpus=cpus, num_gpus=gpus, scheduling_strategy=there
    ).remote()
    return actor


def gpus_of_actor() -> list[str]:
    """Return the GPUs that Ray gave to this process's actor, by their full identifiers."""
    return in_full([str(gpu) for gpu in ray.get_gpu_ids()])


def cpus_of_ranks(num_cores: int, ranks: int) -> list[float]:
    """Return each rank's part of the trial's cores, together all of them and never more.

    Ray counts a CPU in units of 1/10000; what does not divide is the first rank's.
    """
    units = num_cores // ranks * _CPU_UNITS or num_cores * _CPU_UNITS // ranks
    first = num_cores * _CPU_UNITS - units * (ranks - 1)
    return [first / _CPU_UNITS, *[units / _CPU_UNITS] * (ranks - 1)]


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

    def start(self, launch: Launch, rank: Rank, way: ServerWay) -> int:
        """Start a rank's training process; return its id."""
        lease = self._leased(launch)
        here = launch.demand.ranks // launch.demand.nodes
        cores = cores_of_rank(lease, rank.index % here, here)
        interface = interface_of(ray.util.get_node_ip_address())
        own = replace(rank, cores=cores.bound, num_cores=cores.count, interface=interface)
        process = ForkedProcess(way.socket_for(launch), request(launch, own))
        self._processes[rank.index] = process
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
        demand = launch.demand
        gpus = demand.gpus // demand.nodes
        self.actors = [
            _start_actor(NodeRanks, index, cpus=launch.num_cores, gpus=gpus)
            for index in range(1, demand.nodes)
        ]
        try:
            places: list[tuple[str, list[str]]] = ray.get(
                [each.place.remote() for each in self.actors]
            )
        except ray.exceptions.RayActorError as error:
            raise RanksLost("its ranks on another node died as they were started") from error
        self.names = [name for name, _ in places]
        self._here = demand.ranks // demand.nodes
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
        started: ray.ObjectRef[int] = actor.start.remote(launch, rank, way)
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
