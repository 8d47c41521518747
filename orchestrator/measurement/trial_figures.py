"""Figures of the trials table, from the recording of a run.

Figures for reports are made of all blocks and epochs so far. For a report every few milliseconds
over hours that would take longer than the training. The figures of a trial that has ended are
always of all of it.
"""

from __future__ import annotations

import math
import statistics
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING, Any, Final

from orchestrator.measurement.blocks import Block, Epoch, Phase
from orchestrator.measurement.bound import bound_by_phases
from orchestrator.measurement.fingerprint import Fingerprint
from orchestrator.measurement.throughput import HALF_WIDTH, Throughput, measure_throughput
from orchestrator.measurement.usage import Memory, Usage, memory_figures
from orchestrator.metrics import FIRST_LOSS, is_accuracy
from orchestrator.trial import Stage

if TYPE_CHECKING:
    from orchestrator.measurement.context import Context


@dataclass(kw_only=True)
class Recording:
    """Recording of a run so far.

    Attributes:
        context: The trial's place in the sweep.
        blocks: All steps of this process in blocks, in order.
        epochs: All epochs of this process, in order.
        memory: Readings at ends of these epochs.
        fingerprint: What it is trained on, as far as that is known.
        num_epochs: Epochs trained, those before a restored checkpoint included.
        num_steps: Optimizer steps taken, likewise.
        train_s: Time in training epochs of this process.
        eval_s: Time in evaluation, before a restored checkpoint too; None without any.
        earlier_train_s: Time in training epochs before a restored checkpoint.
        usage: CPU time and faults within training epochs.
        peak_gpu_bytes: Peak memory allocated on the device, None without one.
        set_up_s: Time from the run's beginning to its first epoch, None without a loop
            over ``run.epochs()``.
        copied_s: Time of copies that overlap steps, None where none was counted.
        copies_are_waited_for: True where the next batch is not fetched before a copy is done.
    """

    context: Context
    blocks: Sequence[Block]
    epochs: Sequence[Epoch]
    memory: Sequence[Memory] = ()
    fingerprint: Fingerprint = field(default_factory=Fingerprint)
    num_epochs: int = 0
    num_steps: int = 0
    train_s: float = 0.0
    eval_s: float | None = None
    earlier_train_s: float = 0.0
    usage: Usage = field(default_factory=Usage)
    peak_gpu_bytes: int | None = None
    set_up_s: float | None = None
    copied_s: float | None = None
    copies_are_waited_for: bool = False

    @property
    def whole_train_s(self) -> float:
        """Time in training epochs, before a restored checkpoint too."""
        return self.earlier_train_s + self.train_s

    @cached_property
    def throughput(self) -> Throughput | None:
        """Throughput in the steady state; None without a step."""
        return measure_throughput(self.blocks)


def figures(recording: Recording) -> dict[str, float]:
    """Return figures by metric name; one that was not measured is absent, never 0."""
    return dict(_figures(recording, recording.throughput))


def _totals(recording: Recording) -> Iterator[tuple[str, float]]:
    """Yield the figures that take no time to make, however much was recorded."""
    yield "epochs", recording.num_epochs
    yield "steps", recording.num_steps
    if recording.eval_s is not None:
        yield "eval_s", recording.eval_s
    first_loss = recording.fingerprint.first_loss
    if recording.context.stage is Stage.PROBE and first_loss is not None:
        yield FIRST_LOSS, first_loss
    if recording.peak_gpu_bytes is not None:
        yield "peak_gpu_gib", recording.peak_gpu_bytes / 2**30
    if recording.epochs:
        yield "train_s", recording.whole_train_s


def _figures(recording: Recording, throughput: Throughput | None) -> Iterator[tuple[str, float]]:
    yield from _totals(recording)
    if not recording.epochs:
        return
    if whole := [epoch.duration_s for epoch in recording.epochs if epoch.is_whole]:
        yield "epoch_s", statistics.median(whole)
    first = recording.epochs[0]
    is_restored = len(recording.epochs) != recording.num_epochs
    if first.is_whole and not is_restored:
        yield "first_epoch_s", first.duration_s
    yield "epoch_start_s", statistics.median(epoch.start_s for epoch in recording.epochs)
    usage = recording.usage
    cpu_s = usage.user_s + usage.system_s
    num_timed = sum(block.num_steps for block in recording.blocks)
    yield "faults_per_step", usage.minor_faults / num_timed
    yield "cpu_util", cpu_s / recording.train_s / recording.context.num_cores
    if cpu_s > 0:
        yield "system_time_share", usage.system_s / cpu_s
    yield from memory_figures(recording.memory)
    if recording.copied_s is not None:
        yield "copy_ms", 1000 * recording.copied_s / num_timed
    if throughput is not None:
        yield from steady_figures(throughput)


def steady_figures(throughput: Throughput) -> Iterator[tuple[str, float]]:
    """Yield rate, step and phases of the steady state."""
    yield "samples_per_s", throughput.rate
    if throughput.low is not None and throughput.high is not None:
        yield "samples_per_s_within_low", throughput.low
        yield "samples_per_s_within_high", throughput.high
    num_steps = sum(block.num_steps for block in throughput.steady)
    yield "step_ms", 1000 * sum(block.duration_s for block in throughput.steady) / num_steps
    for phase in Phase:
        times = [block.phases[phase] for block in throughput.steady if phase in block.phases]
        if times:
            yield f"{phase}_ms", 1000 * sum(times) / num_steps
    host = [block.host_s for block in throughput.steady if block.host_s is not None]
    if host:
        yield "host_ms", 1000 * sum(host) / num_steps


def verdicts(recording: Recording) -> dict[str, str]:
    """Return tags by name: the bound of a step, the width of the interval, and the like."""
    context = recording.context
    processes = context.world_size * (1 + context.num_workers)
    cores = context.world_size * context.num_cores
    tags = {"oversubscribed": str(processes > cores).lower()}
    if batches := recording.fingerprint.batches:
        tags["batches"] = batches
    throughput = recording.throughput
    if throughput is None:
        return tags
    tags["rate"] = "epochs" if throughput.is_of_whole_epochs else "steady"
    tags |= throughput.warm_up_tags
    if (width := throughput.half_width) is not None:
        tags["interval"] = "narrow" if width <= HALF_WIDTH else "wide"
    bound = bound_by_phases(dict(steady_figures(throughput)))
    return {**tags, "bound": str(bound)} if bound else tags


ALWAYS_UP_TO: Final = 500
"""Blocks and epochs of which the figures are made anew for each report."""


class ReportedFigures:
    """Figures and verdicts of a growing recording; of a long one made anew at each fiftieth more.

    Counts and times in training and evaluation are never old.
    """

    def __init__(self) -> None:
        self._due_from = 0
        self._made: tuple[dict[str, float], dict[str, str]] = {}, {}

    def of(self, recording: Recording) -> tuple[dict[str, float], dict[str, str]]:
        """Return figures and verdicts by name."""
        length = len(recording.blocks) + len(recording.epochs)
        if length >= self._due_from:
            self._made = figures(recording), verdicts(recording)
            self._due_from = length + length // ALWAYS_UP_TO * ALWAYS_UP_TO // 50
        made, tags = self._made
        return {**made, **dict(_totals(recording))}, tags


# -- figures of the training function

_ROUNDING: Final = 1e-6
"""How far beyond 0 and 1 a sum of shares comes in 32 bits."""


def checked_figures(metrics: Mapping[str, Any]) -> dict[str, float]:
    """Return the figures as plain numbers.

    Args:
        metrics: By name: a number, or an array or tensor of a single one.

    Raises:
        TypeError: A figure is no single number.
        ValueError: It is an accuracy that is no fraction of 1.
    """
    return {name: _checked(name, value) for name, value in metrics.items()}


def has_diverged(name: str, figure: float) -> bool:
    """Return True for an infinite figure, and for a loss that is not a number."""
    return math.isinf(figure) or (math.isnan(figure) and name.endswith("loss"))


def _checked(name: str, value: Any) -> float:  # noqa: ANN401 - whatever it is
    try:
        if isinstance(value, (str, bytes)):
            raise TypeError
        figure = float(value.item() if getattr(value, "shape", None) else value)
    except (TypeError, ValueError, RuntimeError, OverflowError, AttributeError):
        kind = type(value).__name__
        raise TypeError(f"{name} is reported as a {kind}: report one number") from None
    if is_accuracy(name) and math.isfinite(figure) and (figure > 1 or figure < 0):
        nearest = min(max(figure, 0.0), 1.0)
        if abs(figure - nearest) < _ROUNDING:
            return nearest
        hint = ": divide it by 100" if 1 < figure <= 100 else ""
        raise ValueError(f"{name} is {figure:g}, and accuracies are fractions of 1{hint}")
    return figure
