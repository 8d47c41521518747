"""Ranks other than 0 of a trial: an actor each, in a bundle of its own of the trial's group."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import asdict
from typing import Any

import ray
from ray.actor import ActorHandle
from ray.util.scheduling_strategies import PlacementGroupSchedulingStrategy

from orchestrator.execution.base import Launch, Rank
from orchestrator.execution.process.fork_client import ForkedProcess, ServerError
from orchestrator.execution.process.ranks import RankEnd, request
from orchestrator.execution.ray.node_servers import ServerWay
from orchestrator.system.gpus import in_full

POLL_S = 1.0
"""A rank's actor is asked this often at most whether the rank has ended."""

_KILLED = -9
_CPU_UNITS = 10_000


@ray.remote(num_cpus=0)
class RankActor:
    """A rank other than 0."""

    _process: ForkedProcess

    def gpus(self) -> list[str]:
        """Return the GPUs that Ray gave to this bundle."""
        return gpus_of_actor()

    def start(self, launch: dict[str, Any], rank: dict[str, Any], way: ServerWay) -> int:
        """Start the rank's training process on this actor's node; return its id."""
        started = Launch.from_json(launch)
        server = way.socket_for(started)
        self._process = ForkedProcess(server, request(started, Rank(**rank)))
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
        started: ray.ObjectRef[int] = actor.start.remote(launch.to_json(), asdict(rank), way)
        try:
            pid = int(ray.get(started))
        except ray.exceptions.RayActorError as error:
            raise ActorDied(f"the actor of rank {rank.index} has died") from error
        super().__init__(pid=pid, ask=actor.end.remote, hang_up=actor.hang_up.remote)


def start_rank_actor(index: int, launch: Launch) -> ActorHandle[Any]:
    """Start the actor of rank ``index``, from within the actor of rank 0."""
    group = ray.util.get_current_placement_group()
    assert group is not None, "Tune places every trial in a group"
    demand = launch.demand
    actor_class: Any = RankActor
    actor: ActorHandle[Any] = actor_class.options(
        num_cpus=cpus_of_ranks(launch.num_cores, demand.ranks)[index],
        num_gpus=demand.gpus // demand.ranks,
        scheduling_strategy=PlacementGroupSchedulingStrategy(
            group, placement_group_bundle_index=index
        ),
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
