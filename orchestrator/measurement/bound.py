"""Bound of a trial: the loader, transfers, computing, or the host that asks for it.

Computing is a share of a step; the rest is the host asking for it.

On the CPU torch's own profiler measures each operation. But an operation on a few numbers takes
some microseconds, a convolution a hundred, to be asked for, and next to none to be computed. So
the time of the same operation on a few numbers is subtracted from each; the rest is computing.
Python between operations is not computing, nor is a library of another kind (NumPy) outside of
``torch.autograd.Function``.

On CUDA the profiler measures when the device ran each kernel; for the rest of a step it has waited
for the host, or copied. A read-back in each step makes the host wait for the device instead, so
the order in which the two finish shows nothing. The share is not known where kernels cannot be
traced, for example in a container without the permission.
"""

import math
import re
import statistics
import sys
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from enum import StrEnum
from typing import Any

import torch
from torch import nn
from torch.autograd.profiler import profile
from torch.nn import functional
from torch.profiler import ProfilerActivity
from torch.profiler import profile as trace

NUM_TINY = 5
"""Tiny steps over which the time to ask for an operation is measured."""
USUAL = "aten::addmm"
"""Operation whose time is subtracted from those that the tiny steps do not have."""

# Python around operations, and torch's own nodes of the backward pass, which call them.
_NO_OPERATION = re.compile(r"#|^Optimizer\.|^autograd::|Backward\d+$|^torch::autograd::")


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


# -- the share of a step that computes


@contextmanager
def computing(device: torch.device, num_steps: int) -> Iterator[list[float]]:
    """Profile so many steps within it, which take longer than usual.

    Returns:
        Seconds in which something computed: in operations, without the time to ask for them; on
        CUDA in kernels. Empty until the end, and where kernels could not be traced.
    """
    found: list[float] = []
    if device.type == "cuda":
        torch.cuda.synchronize(device)
        with trace(activities=[ProfilerActivity.CUDA]) as kernels:
            yield found
            torch.cuda.synchronize(device)
        found += [busy_s(spans)] if (spans := list(kernels_of(kernels.events()))) else []
        return
    asking_us = _asking_us()
    with profile() as steps:
        yield found
    usual, operations = asking_us.get(USUAL, 0.0), _operations(steps).items()
    times_us = (beyond_us(took, asking_us.get(n, usual), num_steps) for n, took in operations)
    found.append(sum(times_us) / 1e6)


def beyond_us(took: Sequence[float], asking_us: float, num_steps: int) -> float:
    """Return the microseconds of an operation in all steps, beyond those to ask for it.

    The median over the steps counts for each place in a step: a stall is no computing.
    """
    num = num_steps if len(took) % num_steps == 0 else 1
    a_step = len(took) // num
    medians = (statistics.median(took[place::a_step]) for place in range(a_step))
    return num * sum(max(median - asking_us, 0.0) for median in medians)


def busy_s(spans: Iterable[tuple[float, float]]) -> float:
    """Return the seconds in which at least one of ``spans``, in microseconds, lasts."""
    busy_us, until = 0.0, -math.inf
    for begin, end in sorted(spans):
        busy_us += max(end - max(begin, until), 0.0)
        until = max(until, end)
    return busy_us / 1e6


def kernels_of(events: Iterable[Any]) -> Iterator[tuple[float, float]]:
    """Yield begin and end of each kernel among the profiler's events; copies are no kernels."""
    for event in events:
        on_device = event.device_type.name == "CUDA"
        if on_device and not event.name.startswith("Mem") and not _NO_OPERATION.search(event.name):
            yield event.time_range.start, event.time_range.end


def _operations(profiled: Any) -> Mapping[str, Sequence[float]]:  # noqa: ANN401 - torch's own
    """Return operations' microseconds by name, without those of their inner operations."""
    by_name: dict[str, list[float]] = defaultdict(list)
    for event in profiled.function_events:
        if not _NO_OPERATION.search(event.name):
            by_name[event.name].append(float(event.self_cpu_time_total))
    return by_name


def _asking_us() -> dict[str, float]:
    """Return the microseconds of usual operations on a few numbers, by name."""
    step = _tiny_step()
    for _ in range(NUM_TINY):
        step()
    with profile() as steps:
        for _ in range(NUM_TINY):
            step()
    return {name: statistics.median(took) for name, took in _operations(steps).items()}


def _tiny_step() -> Callable[[], None]:
    """Return a step of a network with a little of each kind of layer, on next to no numbers."""
    convolution = (nn.Unflatten(1, (1, 6, 6)), nn.Conv2d(1, 2, 3), nn.ReLU(), nn.MaxPool2d(2))
    norms = (nn.Flatten(), nn.LayerNorm(8), nn.BatchNorm1d(8), nn.Dropout(0.5))
    layers, head = nn.Sequential(nn.Embedding(4, 36), *convolution, *norms), nn.Linear(8, 4)
    model, rows = nn.ModuleList([layers, head]), torch.tensor([0, 1])
    optimizers: list[torch.optim.Optimizer] = []
    # The first optimizer of a process imports this, seconds of work. Where it is not imported, the
    # training function has no optimizer, and no operation of one to be measured.
    if "torch._dynamo" in sys.modules:
        optimizers = [
            torch.optim.SGD(model.parameters(), lr=1e-3, momentum=0.9, fused=True),
            torch.optim.Adam(model.parameters(), lr=1e-3, fused=True),
        ]

    def step() -> None:
        hidden = layers(rows)
        hidden = torch.cat([hidden, hidden], 0).index_select(0, rows)
        scores = head(torch.zeros_like(hidden).index_add(0, rows, hidden))
        functional.cross_entropy(scores, rows, reduction="sum").backward()
        for optimizer in optimizers:
            optimizer.step()
            optimizer.zero_grad()

    return step
