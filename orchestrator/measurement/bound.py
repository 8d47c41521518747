"""Bound of a trial: the loader, transfers, computing, or the host that asks for it."""

from __future__ import annotations

from collections.abc import Mapping
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


def bound_of(
    *,
    loader_s: float,
    copy_s: float,
    is_serial: bool,
    model_s: float,
    step_ms: float,
    transfer_ms: float,
    compute_share: float | None,
) -> Bound:
    """Return the bound, from the ceilings.

    A loader in the training process adds its time to the step's; one with workers hides the
    smaller of the two. Either way a step waits for the larger of them most.

    Args:
        loader_s: Seconds a sample of the loader alone, without copies that overlap steps.
        copy_s: Seconds a sample of those copies.
        is_serial: True where the next batch is not fetched before this one's copy is done.
        model_s: Seconds a sample of the model alone.
        step_ms: Step of the model alone, its batch already there.
        transfer_ms: Part of it that moves the batch to the device.
        compute_share: Share of it in which something computes; None where it is not known.
    """
    supply_s = loader_s + copy_s if is_serial else max(loader_s, copy_s)
    if supply_s > model_s:
        return Bound.LOADER if loader_s >= copy_s else Bound.TRANSFER
    computing = step_ms * (1.0 if compute_share is None else compute_share)
    computing = min(computing, step_ms - transfer_ms)
    return _largest(
        {
            Bound.COMPUTE: computing,
            Bound.TRANSFER: transfer_ms,
            Bound.HOST: step_ms - transfer_ms - computing,
        }
    )


def bound_by_phases(measured: Mapping[str, float]) -> Bound | None:
    """Return the largest of wait, transfer, computing and the rest of a step.

    Args:
        measured: Figures of the steady state; None is returned where no phase computes.
    """
    computing = [name for name in ("forward_ms", "backward_ms", "optimizer_ms") if name in measured]
    if not computing:
        return None
    parts = {
        Bound.LOADER: measured.get("wait_ms", 0.0),
        Bound.TRANSFER: measured.get("transfer_ms", 0.0),
        Bound.COMPUTE: sum(measured[name] for name in computing),
    }
    return _largest({**parts, Bound.HOST: measured["step_ms"] - sum(parts.values())})


def _largest(parts: Mapping[Bound, float]) -> Bound:
    return max(parts, key=lambda part: parts[part])
