"""The load of the machine, as the console shows it; the driver passes what reads it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field


@dataclass(frozen=True, kw_only=True)
class GpuLoad:
    """A GPU at one moment.

    Attributes:
        name: Its model.
        busy_share: Share of the time in which a kernel ran, 0 to 1; None where it does not tell.
        used_gib: Memory in use, by whomever.
        total_gib: Memory that it has.
    """

    name: str
    busy_share: float | None
    used_gib: float
    total_gib: float


@dataclass(frozen=True, kw_only=True)
class Load:
    """The load of this machine over the last second or two.

    Attributes:
        num_cores: Cores that this process may use.
        own: Cores' worth of time of the sweep: its trials, its driver, Ray and MLflow.
        others: Cores' worth of time of all other processes on these cores.
        gpus: The GPUs that may be used.
    """

    num_cores: int
    own: float
    others: float
    gpus: tuple[GpuLoad, ...] = field(default=())


ReadLoad = Callable[[], Load | None]
"""Reads the load since the last call; None where it is not known (yet)."""
