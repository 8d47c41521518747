"""The knobs that several trainables share, declared once.

A trainable's config class derives from the groups that it honours; it must honour every
knob of a group, or refuse a value of it with a constraint.
"""

from __future__ import annotations

import math
import os
from typing import TYPE_CHECKING, Any, Literal, cast

from orchestrator import Constraint, Demand, Machine, both, knobs, learning, systems
from orchestrator.space.configs import knobs_of
from orchestrator.system.allocators import find_jemalloc

if TYPE_CHECKING:
    from orchestrator import Run


@knobs
class ProcessKnobs:
    """Knobs of the training process: device, threads, precision."""

    device: Literal["auto", "cpu", "cuda"] = systems(
        default="auto",
        doc="where to train; auto: on a GPU where there is one. With dropout a GPU draws other "
        "numbers, of the same distribution",
    )
    threads: int = systems(
        default=0,
        ge=0,
        doc="torch's threads in an operation; 0: one for each core of the rank, but the loader's",
    )
    allocator: Literal["default", "tuned", "jemalloc"] = systems(
        default="tuned",
        doc="host memory allocator: glibc by its own settings, glibc set to keep what it has, or "
        "jemalloc set so",
    )
    amp: Literal["off", "tf32", "bf16", "fp16"] = both(
        default="off",
        doc="precision of matrices and convolutions: float32 on every device; TF32, on a GPU; "
        "mixed with bf16, or with fp16, which needs a GPU and scales the loss",
    )
    log_every: int = systems(
        default=0,
        ge=0,
        unit="steps",
        doc="read the loss back every so many steps; 0: once an epoch",
    )
    eval_every: int = systems(
        default=1, ge=1, unit="epochs", doc="evaluate every so many epochs, and after the last"
    )


@knobs
class LoaderKnobs:
    """Knobs of the loader."""

    num_workers: int = systems(
        default=0,
        ge=0,
        doc="loader processes of a rank",
        applies=lambda config: config.has_loader(),
    )
    loader_cores: int = systems(
        default=0,
        ge=0,
        doc="cores of a rank that its loader processes have, and torch's threads not; 0: they "
        "share all of them",
        applies=lambda config: config.num_workers > 0,
    )
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
    pin_memory: bool = systems(
        default=False,
        doc="copy batches to page-locked memory; needs a GPU",
        applies=lambda config: config.has_loader(),
    )
    non_blocking: bool = systems(
        default=False,
        doc="copy to the device without waiting for the copy",
        applies=lambda config: config.pins_batches(),
    )
    drop_last: bool = both(default=False, doc="leave out an epoch's last, smaller batch")

    def has_loader(self) -> bool:
        """Return True if batches come through a loader; override it where they need not."""
        return True

    def pins_batches(self) -> bool:
        """Return True if batches are in page-locked memory; override it for another way to that."""
        return self.pin_memory


@knobs
class PrefetchKnobs(LoaderKnobs):
    """A loader that fetches the next batch while the current one computes."""

    prefetch: Literal["off", "thread", "stream"] = systems(
        default="off",
        doc="fetch and move the next batch meanwhile: in a thread, or on a CUDA stream of its own",
        applies=lambda config: config.moves_batches(),
    )
    non_blocking: bool = systems(
        default=False,
        doc="copy to the device without waiting for the copy",
        applies=lambda config: config.prefetch == "off" and config.pins_batches(),
    )

    def moves_batches(self) -> bool:
        """Return True if batches are fetched or moved at all, so that it can happen ahead."""
        return self.has_loader()


@knobs
class BatchKnobs:
    """Knobs of a step that ranks may share; each trainable declares its own defaults anew."""

    lr: float = learning(default=1e-3, gt=0, doc="step size at the default batch_size")
    batch_size: int = both(default=256, ge=1, doc="samples a step, over all ranks")
    lr_scaling: Literal["none", "linear", "sqrt"] = learning(
        default="none",
        doc="how lr grows with batch_size over its default; that is over all ranks, so that with "
        "an unchanged batch on each rank linear multiplies lr by their number",
        applies=lambda config: config.batch_size != config.reference_batch,
    )

    @property
    def reference_batch(self) -> int:
        """Batch size that ``lr`` is meant for."""
        return cast("int", knobs_of(self)["batch_size"].default)

    def scaled_lr(self) -> float:
        """Return the step size for the config's batch size."""
        ratio = self.batch_size / self.reference_batch
        factor = {"none": 1.0, "linear": ratio, "sqrt": math.sqrt(ratio)}[self.lr_scaling]
        return self.lr * factor


def prepare_process(config: ProcessKnobs, run: Run) -> None:
    """Set the process's threads, seed and float32 precision; a trainable does this first.

    PyTorch's default on a GPU is TF32 in convolutions: ``device`` would change what is learned.

    Raises:
        ValueError: The loader has all cores of the rank.
    """
    import torch

    of_loader = config.loader_cores if isinstance(config, LoaderKnobs) else 0
    if of_loader >= run.num_cores:
        raise ValueError(f"loader_cores={of_loader} leaves none of a rank's {run.num_cores} cores")
    torch.set_num_threads(config.threads or run.num_cores - of_loader)
    torch.manual_seed(run.seed)
    torch.set_float32_matmul_precision("high" if config.amp == "tf32" else "highest")
    torch.backends.cudnn.allow_tf32 = config.amp == "tf32"


def cores_of_workers(config: LoaderKnobs, run: Run) -> list[int]:
    """Return the cores to bind loader processes to: none without ``loader_cores``.

    The training process may use all of them: while workers wait it is alone. A rank that shares the
    node's cores with other trials binds no workers, since those would bind theirs to the same ones.
    """
    cores = sorted(os.sched_getaffinity(0))
    is_bound = len(cores) == run.num_cores
    return cores[len(cores) - config.loader_cores :] if is_bound else []


def uses_cuda(config: ProcessKnobs, machine: Machine) -> bool:
    """Return True if ``config`` trains on GPUs when it runs on ``machine``."""
    return config.device == "cuda" or (config.device == "auto" and machine.has_cuda)


def demand_of(
    config: ProcessKnobs, machine: Machine, *, ranks: int | None = None, gpus_per_rank: int = 1
) -> Demand:
    """Return the demand of a config with these knobs on ``machine``.

    Args:
        config: Its loader knobs count too, if it has those.
        machine: Decides whether GPUs are used at all.
        ranks: Training processes. Default: its ``ranks``, 1 without that knob.
        gpus_per_rank: GPUs of each, where GPUs are used.
    """
    ranks = ranks or int(getattr(config, "ranks", 1))
    workers = config.num_workers if isinstance(config, LoaderKnobs) else 0
    ahead = config.prefetch_factor if isinstance(config, LoaderKnobs) else 1
    in_hand = int(isinstance(config, PrefetchKnobs) and config.prefetch != "off")
    return Demand(
        ranks=ranks,
        gpus=ranks * gpus_per_rank if uses_cuda(config, machine) else 0,
        workers=workers,
        # At least 2 with workers, as the loader reports: it then separates the pass's end.
        burst=(max(workers * ahead, 2) if workers else 1) + in_hand,
        allocator=config.allocator,
    )


# -- constraints of the groups


def needs_cuda(knob: str, *values: str, why: str = "") -> Constraint[Any]:
    """The constraint that ``knob`` with any of ``values`` needs a GPU."""

    def constraint(config: ProcessKnobs, machine: Machine) -> str | None:
        value = getattr(config, knob)
        if value not in values or uses_cuda(config, machine):
            return None
        return f"{knob}={value} needs a GPU" + (f": {why}" if why else "")

    return constraint


def amp_needs_cuda(config: ProcessKnobs, machine: Machine) -> str | None:
    """The constraint on ``amp``."""
    if config.amp in ("tf32", "fp16") and not uses_cuda(config, machine):
        return f"amp={config.amp} needs a GPU; bf16 runs on CPUs too"
    return None


def allocator_installed(config: ProcessKnobs, _machine: Machine) -> str | None:
    """The constraint on ``allocator``; it looks at the machine on which it is called."""
    if config.allocator == "jemalloc" and find_jemalloc() is None:
        return "allocator=jemalloc needs libjemalloc, which is not installed here"
    return None


def pinning_needs_cuda(config: LoaderKnobs, machine: Machine) -> str | None:
    """The constraint on ``pin_memory``, for configs with both groups."""
    if config.pin_memory and isinstance(config, ProcessKnobs) and not uses_cuda(config, machine):
        return "pin_memory=True needs a GPU: page-locked memory only speeds up copies to one"
    return None


def loader_leaves_a_core(config: LoaderKnobs, machine: Machine) -> str | None:
    """The constraint on ``loader_cores``; a trial may have fewer cores than its node."""
    if config.loader_cores < machine.cpus or not config.loader_cores:
        return None
    return f"loader_cores={config.loader_cores} leaves none of the node's {machine.cpus} cores"


LOADER_CONSTRAINTS: tuple[Constraint[LoaderKnobs], ...] = (pinning_needs_cuda, loader_leaves_a_core)
"""Constraints of :class:`LoaderKnobs`."""


def streaming_needs_pinned_batches(config: PrefetchKnobs, machine: Machine) -> str | None:
    """The constraint on ``prefetch``, for configs with all groups."""
    if config.prefetch != "stream" or not isinstance(config, ProcessKnobs):
        return None
    if not uses_cuda(config, machine):
        return "prefetch=stream needs a GPU: the stream is one of the GPU's"
    if not config.pins_batches():
        return "prefetch=stream needs pin_memory=True: copies from other memory do not overlap"
    return None


PROCESS_CONSTRAINTS: tuple[Constraint[ProcessKnobs], ...] = (amp_needs_cuda, allocator_installed)
"""Constraints of :class:`ProcessKnobs`."""
