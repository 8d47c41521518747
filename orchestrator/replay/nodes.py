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


class Nodes:
    """Places launches on the nodes of a machine, on the first that has room.

    Args:
        machine: The simulated machine.
        max_concurrent: Most launches at the same time, or None for what fits.
    """

    def __init__(self, machine: Machine, max_concurrent: int | None = None) -> None:
        self._rooms = [Room(node=n.name, cores=n.cpus, gpus=n.gpus) for n in machine.nodes]
        self._max_concurrent = max_concurrent

    @property
    def num_held(self) -> int:
        """Launches that run."""
        return sum(room.num_held for room in self._rooms)

    def with_room(self, cores: int, gpus: int = 0, *, alone: bool = False) -> Room | None:
        """Return the first node with room for a launch, ``alone`` for an isolated one, or None."""
        is_full = self._max_concurrent is not None and self.num_held >= self._max_concurrent
        for room in self._rooms if not is_full else ():
            is_open = not room.is_closed and not (alone and room.num_held)
            if is_open and room.cores >= cores and room.gpus >= gpus:
                return room
        return None

    def place(self, launch: Launch) -> Room | None:
        """Hold what ``launch`` needs on the first node that has it; return None where none has."""
        alone = launch.isolation is Isolation.EXCLUSIVE
        room = self.with_room(launch.num_cores, launch.demand.gpus, alone=alone)
        if room is not None:
            self.hold(room, launch, 1)
            room.is_closed = alone
        return room

    def hold(self, room: Room, launch: Launch, sign: int) -> None:
        """Hold what a launch needs, with 1; give it back, with -1."""
        room.cores -= sign * launch.num_cores
        room.gpus -= sign * launch.demand.gpus
        room.num_held += sign
        room.is_closed = False
