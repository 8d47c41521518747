"""Another framework's training loop: its timed loader, its epochs, evaluations and figures.

::

    framework:  next ──► batch, transfer, forward, ..., end of batch ─┐
    loader:     hands a batch out                     finish_batch: ends the step, waits for the
                                                      next batch, which ``next`` then hands out

A framework that knows the length of its loader never asks for a batch after the last one, and
evaluates within its epoch. So a :class:`TimedLoader` looks ahead once the framework is done with a
batch: the epoch then ends with its last step, before anything is evaluated.
"""

import os
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, field
from itertools import chain, islice
from typing import Any, Final, Generic, TypeVar

import torch
from torch.utils.data import BatchSampler, DataLoader, RandomSampler, SequentialSampler

from orchestrator.measurement.blocks import LEAST_BURST, burst_of, workers_of
from orchestrator.measurement.run import Run

B = TypeVar("B")

ENDLESS: Final = 10**9
"""Length of a loader while ceilings are measured: its batches come over and over."""


class TimedLoader(Generic[B]):
    """Loader that passes on the batches of another one, while a run times its steps.

    It has the attributes of the other loader too.

    Args:
        loader: Any loader of training batches.
        run: The trial.
        samples: Number of training samples in a batch, over all ranks. Default: the first
            dimension of its tensors, however nested, times the number of ranks. A list of samples
            that are not stacked needs it: ``samples=len``.
        batches_per_step: Batches of an optimizer step. The last step of an epoch may have fewer.

    Raises:
        ValueError: There are several ranks, and each would be given all samples.
    """

    def __init__(
        self,
        loader: Iterable[B],
        run: Run,
        *,
        samples: Callable[[B], int] | None = None,
        batches_per_step: int = 1,
    ) -> None:
        if run.world_size > 1 and _has_all_samples(loader):
            raise ValueError(
                f"each of the {run.world_size} ranks would train on all samples: give the loader "
                "sampler=DistributedSampler(dataset)"
            )
        self._loader = loader
        self._samples = samples
        self.run = run
        self.batches_per_step = batches_per_step
        self.on_batch: Callable[[], None] = lambda: None
        self._grouped: _Grouped[B] | None = None
        self._steps: Iterator[list[B]] | None = None  # None before a pass and after its end
        self._step: list[B] = []  # what the run times: batches that are not trained may leave it
        self._num_given = 0  # of the step
        self._num_in_hand = 0  # given, and not finished yet

    def __len__(self) -> int:
        length = len(self._loader)  # type: ignore[arg-type]  # a TypeError where it has none
        return ENDLESS if self.run.is_endless else length

    @property
    def num_steps(self) -> int:
        """Optimizer steps of an epoch; 0 where the loader has no length."""
        try:
            return -(-len(self._loader) // self.batches_per_step)  # type: ignore[arg-type]
        except TypeError:
            return 0

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__") or "_loader" not in vars(self):
            raise AttributeError(name)
        return getattr(self._loader, name)

    def __iter__(self) -> Iterator[B]:
        # Frameworks make iterators that they never use: a pass begins with its first batch.
        self._grouped = self.grouped()
        self._steps = self.run.batches(self._grouped, samples=self.num_samples)
        self._step, self._num_given, self._num_in_hand = [], 0, 0
        while self._has_batch() or self._advance():
            batch = self._step[self._num_given]
            self._num_given += 1
            self._num_in_hand += 1
            self.on_batch()
            yield batch

    def finish_batch(self) -> bool:
        """Count a batch as trained. After the last one of its step wait for the next step's.

        Returns:
            False where no further batch may be trained on in this epoch: the loader has no more, or
            the budget of the trial is used up.
        """
        self._num_in_hand -= 1
        # A loop that fetches ahead has not trained what it was given last.
        return self._num_in_hand > 0 or self._has_batch() or self._advance()

    def interrupt(self) -> None:
        """End the timed part of the epoch, for an evaluation; it continues with the next batch.

        An epoch that is interrupted has no ``epoch_s``.
        """
        if self._steps is None:
            return
        rest = self._step[self._num_given :]
        del self._step[self._num_given :]
        self._steps.close()  # type: ignore[attr-defined]  # a generator: ends its step, if begun
        assert self._grouped is not None, "a pass has begun"
        left = chain([rest] if rest else [], self._grouped.current)
        self._step, self._num_given, self._num_in_hand = [], 0, 0
        self._steps = self.run.rest_of_epoch(left, samples=self.num_samples)

    def _has_batch(self) -> bool:
        return self._num_given < len(self._step)

    def _advance(self) -> bool:
        """Wait for the next step's batches; return False where there are none."""
        step = None if self._steps is None else next(self._steps, None)
        self._step, self._num_given = step or [], 0
        if step is None:
            # A loader's workers live as long as its iterator.
            self._steps = self._grouped = None
        return step is not None

    def num_samples(self, step: Sequence[B]) -> int:
        """Return the samples of a step, over all ranks."""
        if self._samples is not None:
            return sum(map(self._samples, step))
        return sum(map(samples_in, step)) * self.run.world_size

    def grouped(self) -> "_Grouped[B]":
        """Return the batches of a new pass, in steps."""
        return _Grouped(self._loader, self.batches_per_step, self.num_steps)


@dataclass(eq=False)
class _Grouped(Generic[B]):
    """Batches of a loader in lists, one for each of its ``length`` optimizer steps."""

    loader: Iterable[B]
    size: int
    length: int
    current: Iterator[list[B]] = field(default_factory=lambda: iter(()))

    def __len__(self) -> int:
        return self.length

    @property
    def steps_ahead(self) -> int:
        """Steps that the loader makes ahead."""
        burst = burst_of(self.loader)
        return burst if burst == 1 else max(-(-burst // self.size), LEAST_BURST)

    @property
    def num_workers(self) -> int:
        """Worker processes of the loader."""
        return workers_of(self.loader)

    def __iter__(self) -> Iterator[list[B]]:
        batches = iter(self.loader)
        self.current = iter(lambda: list(islice(batches, self.size)), [])
        return self.current


def samples_in(batch: object) -> int:
    """Return the number of samples in a batch: the first dimension of all its tensors.

    Args:
        batch: A tensor or an array, or dictionaries, lists, tuples and dataclasses of these.

    Raises:
        ValueError: It has none, or they differ.
    """
    sizes = set(_sizes(batch))
    if len(sizes) == 1:
        return sizes.pop()
    found = f"first dimensions {sorted(sizes)}" if sizes else "no tensor"
    raise ValueError(
        f"a batch of type {type(batch).__name__} has {found}: give its number of samples by "
        "TimedLoader(..., samples=lambda batch: ...)"
    )


def _sizes(batch: object) -> Iterator[int]:
    if (shape := getattr(batch, "shape", None)) is not None:
        yield from map(int, shape[:1])
    elif isinstance(batch, Mapping):
        yield from chain.from_iterable(map(_sizes, batch.values()))
    elif isinstance(batch, (list, tuple)):
        if batch and all(isinstance(part, (str, bytes, int, float)) for part in batch):
            yield len(batch)
        else:
            yield from chain.from_iterable(map(_sizes, batch))
    elif hasattr(batch, "__dataclass_fields__"):
        yield from _sizes(vars(batch))


def _has_all_samples(loader: object) -> bool:
    """Return True for a loader that gives every rank the same data set."""
    return (
        isinstance(loader, DataLoader)
        and type(loader.batch_sampler) is BatchSampler
        and isinstance(loader.sampler, (RandomSampler, SequentialSampler))
    )


# -- the loop


def set_up(run: Run) -> None:
    """Give the process the threads of its trial, and its ranks their network."""
    torch.set_num_threads(run.num_cores)
    if os.environ.get("MASTER_ADDR") == "127.0.0.1":
        # gloo would look up the host's own name, which need not resolve.
        os.environ.setdefault("GLOO_SOCKET_IFNAME", "lo")


class FollowedLoop:
    """Training loop of another framework: its epochs, evaluations and figures, for a run.

    Args:
        run: The trial.
        names: Names to report figures by, where they are not the framework's.

    Attributes:
        is_within_epoch: True from an epoch's beginning until another begins or the training ends.
        loader: Its loader of training batches, once it is known.
    """

    def __init__(self, run: Run, names: Mapping[str, str] | None) -> None:
        self._run = run
        self._names = names or {}
        self._epochs = run.epochs()
        self.is_within_epoch = False
        self.loader: TimedLoader[Any] | None = None
        self._evaluation = ExitStack()
        self._figures: dict[str, Any] = {}

    def begin_epoch(self) -> None:
        """Begin an epoch, and count the one before it.

        Raises:
            RuntimeError: The budget is used up: it would be one too many.
        """
        self.is_within_epoch = next(self._epochs, None) is not None
        if not self.is_within_epoch:
            raise RuntimeError(
                f"the budget of {self._run.budget.epochs} epochs is used up, and an epoch begins: "
                "share it among several fits, by {**prepare(run), ...} with fewer epochs in each"
            )

    def end_training(self) -> None:
        """Count the last epoch, after which no other one begins."""
        if self.is_within_epoch:
            self._run.count_epoch()
        self.is_within_epoch = False

    def finish_batch(self) -> bool:
        """End a batch's step; return True where the budget is used up by it."""
        assert self.loader is not None, "batches come from it"
        return not self.loader.finish_batch() and self._run.last_epoch

    def interrupt(self) -> None:
        """End the timed part of the epoch, for what is no training."""
        if self.loader is not None:
            self.loader.interrupt()

    def begin_evaluation(self) -> None:
        """Count what follows as evaluation."""
        self.interrupt()
        self._evaluation.enter_context(self._run.evaluating())

    def end_evaluation(self) -> None:
        """Count what follows as training again."""
        self._evaluation.close()

    def keep(self, figures: Mapping[str, Any]) -> None:
        """Keep figures for the next report; what is no single number is left out."""
        for name, figure in figures.items():
            if _is_one_number(figure):
                self._figures[self._names.get(name, name)] = figure

    def report(self) -> None:
        """Report what was kept since the last report.

        Raises:
            TrialStopped: The trial is to end here.
        """
        figures, self._figures = self._figures, {}
        self._run.report(**figures)


def _is_one_number(figure: Any) -> bool:
    is_single = getattr(figure, "numel", lambda: getattr(figure, "size", 1))() == 1
    return is_single and hasattr(figure, "__float__")
