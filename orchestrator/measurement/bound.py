"""Bound of a trial: the loader, transfers, computing, or the host that asks for it."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum


class Bound(StrEnum):
    """Part of the work that a step waits for most."""

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
    """Time to have a batch on its device, in seconds a sample.

    Attributes:
        loader_s: Time of the loader, without copies that overlap steps.
        copy_s: Time of those copies.
        is_serial: True where the next batch is not fetched before this one's copy is done.
    """

    loader_s: float
    copy_s: float = 0.0
    is_serial: bool = False

    @property
    def total_s(self) -> float:
        """Time from one batch to the next."""
        if self.is_serial:
            return self.loader_s + self.copy_s
        return max(self.loader_s, self.copy_s)


@dataclass(frozen=True, kw_only=True)
class ModelStep:
    """Step of the model alone, its batch already there.

    Attributes:
        step_ms: Its duration.
        transfer_ms: Of that, moving the batch to the device.
        compute_share: Share of the step in which something computes; None where it is not known.
    """

    step_ms: float
    transfer_ms: float
    compute_share: float | None


def bound_of(*, supply: Supply, model_s: float, step: ModelStep) -> Bound:
    """Return the bound, from the ceilings.

    A loader in the training process adds its time to the step's; one with workers hides the
    smaller of the two. Either way a step waits for the larger of them most.

    Args:
        supply: Time of the loader alone, and of copies that overlap steps.
        model_s: Seconds a sample of the model alone.
        step: Composition of the model's time.
    """
    if supply.total_s > model_s:
        return Bound.LOADER if supply.loader_s >= supply.copy_s else Bound.TRANSFER
    computing = step.step_ms * (1.0 if step.compute_share is None else step.compute_share)
    computing = min(computing, step.step_ms - step.transfer_ms)
    parts = {
        Bound.COMPUTE: computing,
        Bound.TRANSFER: step.transfer_ms,
        Bound.HOST: step.step_ms - step.transfer_ms - computing,
    }
    return max(parts, key=lambda part: parts[part])
