"""Training in the test's own process, with reports kept in a list."""

from __future__ import annotations

import statistics
import time
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, TypeVar

import pytest
import torch
from torch.utils._python_dispatch import TorchDispatchMode

from orchestrator import DataFolders, DataSet, Trainable
from orchestrator.measurement.run import Channel, Context, Run
from orchestrator.trial import Budget, Report

B = TypeVar("B")

ON_TWO_GPUS = (
    pytest.mark.gpu,
    pytest.mark.skipif(torch.cuda.device_count() < 2, reason="needs two GPUs"),
)
"""Marks of a test, or of one of its cases."""

Operation = tuple[str, tuple[tuple[int, ...], ...]]


@dataclass
class Reports:
    """A channel that keeps what it hears, and may ask for an end after so many reports."""

    stop_after: int | None = None
    kept: list[Report] = field(default_factory=list)

    def report(self, report: Report) -> bool:
        self.kept.append(report)
        return len(self.kept) == self.stop_after

    def metric(self, name: str) -> list[float]:
        """Its value in each report that has it."""
        return [report.metrics[name] for report in self.kept if name in report.metrics]


def context(data: DataSet, *, epochs: int = 1, steps: int | None = None, **more: object) -> Context:
    """A run's place in a sweep: on one core of the CPU unless ``more`` says otherwise."""
    prepared = data.prepare(DataFolders.default(Path("nowhere")))
    given: dict[str, Any] = {"seed": 0, **more}
    return Context(budget=Budget(epochs=epochs, steps=steps), data=prepared, **given)


def train_once(
    trainable: Trainable[Any],
    config: object,
    where: Context,
    *,
    reports: Reports | None = None,
    make_run: Callable[[Context, Channel], Run] = Run,
) -> Reports:
    """Trains and returns what was reported; torch's threads are as before."""
    kept = reports or Reports()
    threads = torch.get_num_threads()
    try:
        trainable.train(config, make_run(where, kept))
    finally:
        torch.set_num_threads(threads)
    return kept


class _Seen(Run):
    """A run that keeps each batch."""

    def __init__(self, where: Context, channel: Channel, seen: list[Any]) -> None:
        super().__init__(where, channel)
        self._seen = seen

    def batches(self, loader: Iterable[B], *, samples: Callable[[B], int]) -> Iterator[B]:
        for arriving in super().batches(loader, samples=samples):
            self._seen.append(getattr(arriving, "batch", arriving))
            yield arriving


def batches_seen(trainable: Trainable[Any], config: object, where: Context) -> list[Any]:
    """The batches that the training loop is given."""
    seen: list[Any] = []
    train_once(
        trainable, config, where, make_run=lambda where, channel: _Seen(where, channel, seen)
    )
    return seen


class _StepsRun(Run):
    """A run that says when a step's work begins and ends."""

    def __init__(self, where: Context, channel: Channel, watch: Callable[[bool], None]) -> None:
        super().__init__(where, channel)
        self._watch = watch

    def batches(self, loader: Iterable[B], *, samples: Callable[[B], int]) -> Iterator[B]:
        for batch in super().batches(loader, samples=samples):
            self._watch(True)
            yield batch
            self._watch(False)


class _Recorder(TorchDispatchMode):
    """Notes every operation that torch carries out while it is on."""

    def __init__(self) -> None:
        super().__init__()  # type: ignore[no-untyped-call]
        self.steps: list[list[Operation]] = []
        self._on = False

    def watch(self, on: bool) -> None:
        self._on = on
        if on:
            self.steps.append([])

    def __torch_dispatch__(
        self,
        func: Any,  # noqa: ANN401
        types: object,
        args: Any = (),  # noqa: ANN401
        kwargs: Any = None,  # noqa: ANN401
    ) -> Any:  # noqa: ANN401 - torch's own
        if self._on:
            shapes = tuple(tuple(arg.shape) for arg in args if isinstance(arg, torch.Tensor))
            self.steps[-1].append((str(func.overloadpacket), shapes))
        return func(*args, **(kwargs or {}))


def operations(trainable: Trainable[Any], config: object, where: Context) -> list[list[Operation]]:
    """What torch does in each step: operations by name, with the shapes of their tensors."""
    recorder = _Recorder()
    with recorder:
        train_once(
            trainable,
            config,
            where,
            make_run=lambda where, channel: _StepsRun(where, channel, recorder.watch),
        )
    return recorder.steps


def step_cpu_s(trainable: Trainable[Any], config: object, where: Context) -> float:
    """CPU seconds of a step once its batch is there, in the median of a run's steps.

    A clock of the process alone: what else the machine does hardly shows.
    """
    marks: list[float] = []
    train_once(
        trainable,
        config,
        where,
        make_run=lambda where, channel: _StepsRun(
            where, channel, lambda _: marks.append(time.process_time())
        ),
    )
    return statistics.median(
        end - begin for begin, end in zip(marks[::2], marks[1::2], strict=True)
    )
