"""What bounds a trial: the loader, transfers, computing, or the host that asks for it."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum


class Bound(StrEnum):
    """What a trial's step waits for most."""

    LOADER = "loader"
    """Batches: the loader alone takes longer for a sample than all the rest."""
    TRANSFER = "transfer"
    """Copies to the device."""
    COMPUTE = "compute"
    """Operations large enough to keep the device, or the cores, busy."""
    HOST = "host"
    """Python, launches and read-backs: operations so small that asking for them costs more."""


@dataclass(frozen=True, kw_only=True)
class Stay:
    """What becomes of a step's time once its batch is there.

    Attributes:
        step_ms: All of it.
        transfer_ms: Of that, moving the batch to the device.
        covered: Share of the step in which something computes; None where it is not known.
    """

    step_ms: float
    transfer_ms: float
    covered: float | None


def bound_of(*, loader_s: float, model_s: float, stay: Stay) -> Bound:
    """The bound, from the two ceilings.

    A loader in the training process adds its time to the step's, one with workers hides the
    smaller of the two: either way the larger of them is what a step waits for most.

    Args:
        loader_s: Seconds a sample of the loader alone.
        model_s: Seconds a sample of the model alone.
        stay: What the model's time is made of.
    """
    if loader_s > model_s:
        return Bound.LOADER
    computing = stay.step_ms * (1.0 if stay.covered is None else stay.covered)
    computing = min(computing, stay.step_ms - stay.transfer_ms)
    parts = {
        Bound.COMPUTE: computing,
        Bound.TRANSFER: stay.transfer_ms,
        Bound.HOST: stay.step_ms - stay.transfer_ms - computing,
    }
    return max(parts, key=lambda part: parts[part])
