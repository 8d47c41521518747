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

    def place(self, launch: Launch) -> Room | None:
        """Hold what ``launch`` needs on the first node that has it; return None where none has."""
        alone = launch.isolation is Isolation.EXCLUSIVE
        rooms = self._rooms if not self._is_full else ()
        cores, gpus = launch.num_cores, launch.demand.gpus
        room = next((room for room in rooms if room.has(cores, gpus, alone=alone)), None)
        if room is not None:
            self._hold(room, launch, 1)
            room.is_closed = alone
        return room

    def release(self, room: Room, launch: Launch) -> None:
        """Give back what a launch held."""
        self._hold(room, launch, -1)
        room.is_closed = False

    def _hold(self, room: Room, launch: Launch, sign: int) -> None:
        room.cores -= sign * launch.num_cores
        room.gpus -= sign * launch.demand.gpus
        room.num_held += sign
        self._num_launches += sign

    @property
    def _is_full(self) -> bool:
        return self._max_concurrent is not None and self._num_launches >= self._max_concurrent
