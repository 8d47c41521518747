"""The knobs that several trainables share, declared once.

A trainable's config class derives from the groups that it honours; it must honour every
knob of a group, or refuse a value of it with a constraint.
"""

from __future__ import annotations

from typing import Literal

from orchestrator import Machine, both, knobs, systems


@knobs
class ProcessKnobs:
    """Where and how a training process computes."""

    device: Literal["auto", "cpu", "cuda"] = systems(
        default="auto", doc="where to train; auto: on a GPU where there is one"
    )
    threads: int = systems(
        default=0, ge=0, doc="torch's threads in an operation; 0: one for each core of the rank"
    )
    allocator: Literal["default", "tuned", "jemalloc"] = systems(
        default="tuned",
        doc="host memory allocator: glibc's own settings, glibc told to keep what it has, jemalloc",
    )
    amp: Literal["off", "bf16", "fp16"] = both(
        default="off", doc="mixed precision; fp16 needs a GPU and scales the loss"
    )
    log_every: int = systems(
        default=0, ge=0, unit="steps", doc="read the loss back every so many steps; 0: once an epoch"
    )
    eval_every: int = systems(
        default=1, ge=1, unit="epochs", doc="evaluate every so many epochs, and after the last"
    )


@knobs
class LoaderKnobs:
    """How batches reach the training loop."""

    num_workers: int = systems(default=0, ge=0, doc="loader processes of a rank")
    prefetch_factor: int = systems(
        default=2,
        ge=1,
        unit="batches",
        doc="batches that each worker prepares ahead",
        applies=lambda config: config.num_workers > 0,
    )
    persistent_workers: bool = systems(
        default=False,
        doc="keep the workers from one epoch to the next",
        applies=lambda config: config.num_workers > 0,
    )
    pin_memory: bool = systems(default=False, doc="copy batches to page-locked memory; needs a GPU")
    non_blocking: bool = systems(
        default=False,
        doc="copy to the device without waiting for the copy",
        applies=lambda config: config.pin_memory,
    )
    drop_last: bool = both(default=False, doc="leave out an epoch's last, smaller batch")


def uses_cuda(config: ProcessKnobs, machine: Machine) -> bool:
    """Whether ``config`` trains on GPUs when it runs on ``machine``."""
    return config.device == "cuda" or (config.device == "auto" and machine.has_cuda)


def fp16_needs_cuda(config: ProcessKnobs, machine: Machine) -> str | None:
    """The constraint that goes with ``amp``."""
    if config.amp == "fp16" and not uses_cuda(config, machine):
        return "amp=fp16 needs a GPU: CPUs have no fast half precision; bf16 runs on both"
    return None


def pinning_needs_cuda(
    config: LoaderKnobs, machine: Machine
) -> str | None:
    """The constraint that goes with ``pin_memory``, for configs with both groups."""
    if config.pin_memory and isinstance(config, ProcessKnobs) and not uses_cuda(config, machine):
        return "pin_memory=True needs a GPU: page-locked memory only speeds up copies to one"
    return None
