"""The machine or cluster that a sweep runs on, as trainables and placement see it."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, kw_only=True)
class Node:
    """What one machine of a cluster offers.

    Attributes:
        name: Host name or address.
        cpus: Cores that trials may use.
        gpus: Number of GPUs.
        gpu_name: Their model, empty where there are none.
        kept_cpus: Cores beside those, which are kept for the driver and Ray.
    """

    name: str
    cpus: int
    gpus: int = 0
    gpu_name: str = ""
    kept_cpus: int = 0


@dataclass(frozen=True, kw_only=True)
class Machine:
    """The machine or cluster that a sweep runs on."""

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
        """Whether any node has a GPU."""
        return self.gpus > 0
