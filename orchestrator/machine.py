"""Machine or cluster of a sweep, and the reasons for which a config cannot run on it."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, TypeVar

from orchestrator.errors import SweepError, SweepFileError
from orchestrator.field_types import shown
from orchestrator.locations import place_of
from orchestrator.texts import described


@dataclass(frozen=True, kw_only=True)
class Node:
    """One machine of a cluster.

    Attributes:
        name: Host name or address.
        cpus: Cores that trials may use.
        gpus: Number of GPUs.
        gpu_name: Their model, empty without any.
        reserved_cpus: Further cores, reserved for the driver and Ray.
        has_mps: True where trials may share a GPU, by NVIDIA's MPS; never on a cluster.
        memory_gib: Memory; 0 where it is not known, as on a cluster.
        gpu_memory_gib: Memory of its smallest GPU, likewise.
    """

    name: str
    cpus: int
    gpus: int = 0
    gpu_name: str = ""
    reserved_cpus: int = 0
    has_mps: bool = False
    memory_gib: float = 0.0
    gpu_memory_gib: float = 0.0


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
    def has_mps(self) -> bool:
        """True where trials may share a GPU."""
        return any(node.has_mps for node in self.nodes)

    @property
    def has_cuda(self) -> bool:
        """True where any node has a GPU."""
        return self.gpus > 0


# -- constraints

C = TypeVar("C")

Constraint = Callable[[C, Machine], str | None]
"""Function that returns the reason for which a config cannot run on a machine, or None."""


def requires(holds: Callable[[C], bool], reason: str) -> Constraint[C]:
    """Return a constraint on the config alone: infeasible with ``reason`` unless ``holds``."""
    return lambda config, _machine: None if holds(config) else reason


def objection(constraint: Constraint[Any], config: object, machine: Machine) -> str | None:
    """Return the reason of ``constraint`` against a config, or None.

    Raises:
        SweepFileError: It raises, or returns something else than a reason or None.
    """
    answer = answer_of(constraint, "a constraint", config, machine)
    if answer is None or isinstance(answer, str):
        return answer
    raise SweepFileError(
        f"{place_of(constraint)}: a constraint returned {shown(answer)}",
        "allowed: a reason, or None where the config is wanted; requires(lambda config: ..., "
        "'reason') makes a constraint of a condition",
    )


def answer_of(
    function: Callable[[Any, Machine], Any], name: str, config: object, machine: Machine
) -> Any:  # noqa: ANN401 - the user's own
    """Return what a user's function of a config and a machine returns.

    Raises:
        SweepFileError: It raises; names its place and the config.
    """
    try:
        return function(config, machine)
    except SweepError as error:
        message = f"{place_of(function)}: {error.message}, for {shown(config)}"
        raise SweepFileError(message, error.hint) from None
    except Exception as error:
        message = f"{place_of(function)}: {name} raised {described(error)}"
        raise SweepFileError(message, f"for {shown(config)}") from error
