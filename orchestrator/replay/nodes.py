"""Simulated nodes: cores and GPUs that launches hold, and nodes that one holds alone."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from orchestrator.kernel.executor import Launch
from orchestrator.machine import Machine, Node
from orchestrator.trial import Isolation


@dataclass(kw_only=True)
class _Room:
    """Free cores and GPUs of a node.

    Attributes:
        node: The node.
        cores: Free cores.
        gpus: Free GPUs.
        num_held: Parts of launches that run there.
        is_closed: True where an isolated launch has the node to itself.
    """

    node: Node
    cores: int
    gpus: int
    num_held: int = 0
    is_closed: bool = False


@dataclass(frozen=True, kw_only=True)
class _Part:
    """Cores and GPUs of one rank, or of several on the same node."""

    room: _Room
    cores: int
    gpus: int


@dataclass(frozen=True, kw_only=True)
class Place:
    """Room that a launch holds, on one node or several.

    Attributes:
        parts: One for each node or rank.
        is_alone: True where it has its nodes to itself.
    """

    parts: Sequence[_Part]
    is_alone: bool

    @property
    def node(self) -> str:
        """Name of the node of its first rank."""
        return self.parts[0].room.node.name


class Nodes:
    """Places launches on the nodes of a machine, on the first that has room.

    Args:
        machine: The simulated machine.
        max_concurrent: Most launches at the same time, or None for what fits.
    """

    def __init__(self, machine: Machine, max_concurrent: int | None = None) -> None:
        self._rooms = [_Room(node=node, cores=node.cpus, gpus=node.gpus) for node in machine.nodes]
        self._max_concurrent = max_concurrent
        self._num_launches = 0

    @property
    def is_idle(self) -> bool:
        """True where nothing is held."""
        return not self._num_launches

    def may_take(self, num_cores: int) -> bool:
        """Return True if a launch of so many cores, not isolated, would find room."""
        if self._is_full:
            return False
        return any(room.cores >= num_cores and not room.is_closed for room in self._rooms)

    def place(self, launch: Launch) -> Place | None:
        """Hold what ``launch`` needs; return None where that is not free."""
        if self._is_full:
            return None
        is_alone = launch.isolation is Isolation.EXCLUSIVE
        parts = self._whole(launch, is_alone) or self._by_rank(launch, is_alone)
        if parts is None:
            return None
        for part in parts:
            part.room.cores -= part.cores
            part.room.gpus -= part.gpus
            part.room.num_held += 1
            part.room.is_closed = is_alone
        self._num_launches += 1
        return Place(parts=parts, is_alone=is_alone)

    def release(self, place: Place) -> None:
        """Give back what a launch held."""
        for part in place.parts:
            part.room.cores += part.cores
            part.room.gpus += part.gpus
            part.room.num_held -= 1
            part.room.is_closed = False
        self._num_launches -= 1

    @property
    def _is_full(self) -> bool:
        return self._max_concurrent is not None and self._num_launches >= self._max_concurrent

    def _whole(self, launch: Launch, is_alone: bool) -> list[_Part] | None:
        """Return all of the launch on one node."""
        for room in self._rooms:
            if _has(room, launch.num_cores, launch.demand.gpus, is_alone):
                return [_Part(room=room, cores=launch.num_cores, gpus=launch.demand.gpus)]
        return None

    def _by_rank(self, launch: Launch, is_alone: bool) -> list[_Part] | None:
        """Return its ranks, each on the first node with room, over as many nodes as that takes."""
        ranks = launch.demand.ranks
        cores, gpus = max(launch.num_cores // ranks, 1), launch.demand.gpus // ranks
        parts, left = list[_Part](), ranks
        for room in self._rooms if ranks > 1 else ():
            num = 0
            while left and _has(room, cores * (num + 1), gpus * (num + 1), is_alone):
                num, left = num + 1, left - 1
            if num:
                parts.append(_Part(room=room, cores=cores * num, gpus=gpus * num))
        return parts if parts and not left else None


def _has(room: _Room, cores: int, gpus: int, is_alone: bool) -> bool:
    if room.is_closed or (is_alone and room.num_held):
        return False
    return room.cores >= cores and room.gpus >= gpus
