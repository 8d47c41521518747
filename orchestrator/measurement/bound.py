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
class Supply:
    """What it takes to have a batch where it is computed with, in seconds a sample.

    Attributes:
        loader_s: To have it from the loader, copies left out that overlap steps.
        copy_s: Those copies.
        in_turn: Whether the next batch is not fetched before this one's copy is done.
    """

    loader_s: float
    copy_s: float = 0.0
    in_turn: bool = False

    @property
    def total_s(self) -> float:
        """From one batch to the next."""
        if self.in_turn:
            return self.loader_s + self.copy_s
        return max(self.loader_s, self.copy_s)


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


def bound_of(*, supply: Supply, model_s: float, stay: Stay) -> Bound:
    """The bound, from the ceilings.

    A loader in the training process adds its time to the step's, one with workers hides the
    smaller of the two: either way the larger of them is what a step waits for most.

    Args:
        supply: What the loader alone takes, and copies that overlap steps.
        model_s: Seconds a sample of the model alone.
        stay: What the model's time is made of.
    """
    if supply.total_s > model_s:
        return Bound.LOADER if supply.loader_s >= supply.copy_s else Bound.TRANSFER
    computing = stay.step_ms * (1.0 if stay.covered is None else stay.covered)
    computing = min(computing, stay.step_ms - stay.transfer_ms)
    parts = {
        Bound.COMPUTE: computing,
        Bound.TRANSFER: stay.transfer_ms,
        Bound.HOST: stay.step_ms - stay.transfer_ms - computing,
    }
    return max(parts, key=lambda part: parts[part])
