"""Machine or cluster of a sweep, as trainables and placement see it."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, kw_only=True)
class Node:
    """One machine of a cluster.

    Attributes:
        name: Host name or address.
        cpus: Cores that trials may use.
        gpus: Number of GPUs.
        gpu_name: Their model, empty without any.
        reserved_cpus: Cores beside those, reserved for the driver and Ray.
    """

    name: str
    cpus: int
    gpus: int = 0
    gpu_name: str = ""
    reserved_cpus: int = 0


@dataclass(frozen=True, kw_only=True)
class Machine:
    """Machine or cluster of a sweep."""

    nodes: tuple[Node, ...]

    @property
    def cpus(self) -> int:
        """Cores of the largest node: a trial never spans two, unless its ranks do."""
        return max(node.cpus for node in self.nodes)

    @property
    def gpus(self) -> int:
        """GPUs of the node with the most of them."""
        return max(node.gpus for node in self.nodes)

    @property
    def has_cuda(self) -> bool:
        """True where any node has a GPU."""
        return self.gpus > 0
