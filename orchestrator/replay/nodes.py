"""Simulated nodes: cores and GPUs that launches hold, and nodes that an isolated launch closes."""

from __future__ import annotations

from dataclasses import dataclass

from orchestrator.kernel.executor import Launch
from orchestrator.machine import Machine
from orchestrator.trial import Isolation


@dataclass(kw_only=True)
class Room:
    """Free cores and GPUs of a node.

    Attributes:
        node: Name of the node.
        cores: Free cores.
        gpus: Free GPUs.
        num_held: Launches that run there.
        is_closed: True where an isolated launch has the node to itself.
    """

    node: str
    cores: int
    gpus: int
    num_held: int = 0
    is_closed: bool = False

    def has(self, cores: int, gpus: int, *, alone: bool = False) -> bool:
        """Return True if there is room for a launch, ``alone`` for an isolated one."""
        if self.is_closed or (alone and self.num_held):
            return False
        return self.cores >= cores and self.gpus >= gpus


Place = list[tuple[Room, int, int]]
"""Room that a launch holds: nodes, with its cores and GPUs on each; that of rank 0 first."""


class Nodes:
    """Places launches on the nodes of a machine, on the first that has room.

    Args:
        machine: The simulated machine.
        max_concurrent: Most launches at the same time, or None for what fits.
    """

    def __init__(self, machine: Machine, max_concurrent: int | None = None) -> None:
        self._rooms = [Room(node=n.name, cores=n.cpus, gpus=n.gpus) for n in machine.nodes]
        self._max_concurrent = max_concurrent
        self._num_launches = 0

    @property
    def is_idle(self) -> bool:
        """True where nothing is held."""
        return not self._num_launches

    def may_take(self, num_cores: int) -> bool:
        """Return True if a launch of so many cores, not isolated, would find room."""
        return not self._is_full and any(room.has(num_cores, 0) for room in self._rooms)

    def place(self, launch: Launch) -> Place | None:
        """Hold what ``launch`` needs; return None where that is not free."""
        alone = launch.isolation is Isolation.EXCLUSIVE
        place = (
            None if self._is_full else self._whole(launch, alone) or self._by_rank(launch, alone)
        )
        if place is None:
            return None
        for room, cores, gpus in place:
            room.cores -= cores
            room.gpus -= gpus
            room.num_held += 1
            room.is_closed = alone
        self._num_launches += 1
        return place

    def release(self, place: Place) -> None:
        """Give back what a launch held."""
        for room, cores, gpus in place:
            room.cores += cores
            room.gpus += gpus
            room.num_held -= 1
            room.is_closed = False
        self._num_launches -= 1

    @property
    def _is_full(self) -> bool:
        return self._max_concurrent is not None and self._num_launches >= self._max_concurrent

    def _whole(self, launch: Launch, alone: bool) -> Place | None:
        """Return all of the launch on one node."""
        cores, gpus = launch.num_cores, launch.demand.gpus
        rooms = (room for room in self._rooms if room.has(cores, gpus, alone=alone))
        return next(([(room, cores, gpus)] for room in rooms), None)

    def _by_rank(self, launch: Launch, alone: bool) -> Place | None:
        """Return its ranks, each on the first node with room, over as many nodes as that takes."""
        ranks = left = launch.demand.ranks
        cores, gpus = max(launch.num_cores // ranks, 1), launch.demand.gpus // ranks
        place: Place = []
        for room in self._rooms if ranks > 1 else ():
            num = 0
            while left and room.has(cores * (num + 1), gpus * (num + 1), alone=alone):
                num, left = num + 1, left - 1
            if num:
                place.append((room, cores * num, gpus * num))
        return place if place and not left else None
