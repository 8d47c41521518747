"""Training in the test's own process, with reports kept in a list."""

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, TypeVar

import pytest
import torch
from torch.utils._python_dispatch import TorchDispatchMode

from orchestrator import DataFolders, DataSet, Trainable
from orchestrator.measurement import usage
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
    """Channel that keeps the reports, and may ask for an end after so many of them."""

    stop_after: int | None = None
    kept: list[Report] = field(default_factory=list)

    def report(self, report: Report) -> bool:
        self.kept.append(report)
        return len(self.kept) == self.stop_after

    def of(self, name: str) -> list[float | None]:
        """Return its value in each report, None where one has it not."""
        return [report.metrics.get(name) for report in self.kept]

    def metric(self, name: str) -> list[float]:
        """Return its value in each report that has it."""
        return [report.metrics[name] for report in self.kept if name in report.metrics]


def context(data: DataSet, *, epochs: int = 1, steps: int | None = None, **more: object) -> Context:
    """Return a run's place in a sweep: one core of the CPU unless ``more`` sets others."""
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
    reads_memory: bool = False,
) -> Reports:
    """Train and return the reports; torch's threads are as before.

    A reading of the memory takes longer than an epoch of a test, in a process as large as this.
    """
    kept = reports or Reports()
    threads = torch.get_num_threads()
    with pytest.MonkeyPatch.context() as patch:
        if not reads_memory:
            patch.setattr(usage, "memory_at", lambda _: None)
        try:
            trainable.train(config, make_run(where, kept))
        finally:
            torch.set_num_threads(threads)
    return kept


class _Seen(Run):
    """Run that keeps each batch."""

    def __init__(self, where: Context, channel: Channel, seen: list[Any]) -> None:
        super().__init__(where, channel)
        self._seen = seen

    def batches(self, loader: Iterable[B], *, samples: Callable[[B], int]) -> Iterator[B]:
        for arriving in super().batches(loader, samples=samples):
            self._seen.append(getattr(arriving, "batch", arriving))
            yield arriving


def batches_seen(trainable: Trainable[Any], config: object, where: Context) -> list[Any]:
    """Return the batches that the training loop is given."""
    seen: list[Any] = []
    train_once(
        trainable, config, where, make_run=lambda where, channel: _Seen(where, channel, seen)
    )
    return seen


class _StepsRun(Run):
    """Run that calls ``watch`` where a step's work begins and ends."""

    def __init__(self, where: Context, channel: Channel, watch: Callable[[bool], None]) -> None:
        super().__init__(where, channel)
        self._watch = watch

    def batches(self, loader: Iterable[B], *, samples: Callable[[B], int]) -> Iterator[B]:
        for batch in super().batches(loader, samples=samples):
            self._watch(True)
            yield batch
            self._watch(False)


class _Recorder(TorchDispatchMode):
    """Recorder of every operation that torch carries out while it is on."""

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
    """Return torch's operations in each step, by name and with the shapes of their tensors."""
    recorder = _Recorder()
    with recorder:
        train_once(
            trainable,
            config,
            where,
            make_run=lambda where, channel: _StepsRun(where, channel, recorder.watch),
        )
    return recorder.steps
