"""Moving batches to the device: within the step, or while the batch before computes.

    delivery = Delivery(run.device, prefetch=config.prefetch)
    for arriving in run.batches(delivery.of(loader), samples=...):
        with run.phase(Phase.TRANSFER):
            batch = arriving.on_device()

With ``off`` the copy happens in ``on_device``. With ``thread`` a background thread fetches
the next batch and copies it, from any kind of memory. With ``stream`` the loop's
thread fetches it and starts its copy on a separate CUDA stream, which needs batches in
page-locked memory to overlap; ``on_device`` has the compute stream wait for that copy.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass
from functools import cache
from typing import Any, Generic, Literal, Protocol, TypeVar

import torch

from trainables.loading.batch import keep_for, moved

B = TypeVar("B")


@dataclass(frozen=True)
class Arriving(Generic[B]):
    """A batch on its way to the device.

    Attributes:
        batch: The batch, wherever it is: its sizes may be read, its content not.
        on_device: Returns it on the device. Call it once, within the step.
    """

    batch: B
    on_device: Callable[[], B]


class Copying(Protocol):
    """Timer of copies on a separate stream."""

    def __call__(
        self, stream: torch.cuda.Stream, *, is_waited_for: bool
    ) -> AbstractContextManager[Any]:
        """A context in which they are put there."""


def _untimed(
    stream: torch.cuda.Stream, *, is_waited_for: bool = False
) -> AbstractContextManager[Any]:
    return nullcontext()


@dataclass(frozen=True)
class Delivery:
    """Way of batches to a device.

    Attributes:
        device: The device to move them to.
        non_blocking: Whether the loop continues while a batch in page-locked memory is copied.
        prefetch: See the module.
        copying: Times copies on a separate stream: ``run.copying``.
    """

    device: torch.device
    non_blocking: bool = False
    prefetch: Literal["off", "thread", "stream"] = "off"
    copying: Copying = _untimed

    def __post_init__(self) -> None:
        if self.prefetch == "stream" and self.device.type != "cuda":
            raise ValueError(f"prefetch='stream' needs a CUDA device, not {self.device}")

    def of(self, batches: Iterable[B]) -> Arrivals[B]:
        """``batches``, as they arrive."""
        return Arrivals(batches, self)


class Arrivals(Generic[B]):
    """One epoch's batches as they arrive. Starting to iterate starts what yields them."""

    def __init__(self, batches: Iterable[B], delivery: Delivery) -> None:
        self._batches = batches
        self._device = delivery.device
        self._non_blocking = delivery.non_blocking
        self._prefetch = delivery.prefetch
        self._copying = delivery.copying

    def __iter__(self) -> Iterator[Arriving[B]]:
        # In the caller's thread: loader workers end with the thread that started them.
        iterator = iter(self._batches)
        if self._prefetch == "off":
            return map(self._copied_in_step, iterator)
        if self._device.type != "cuda":
            return _one_ahead_in_thread(map(self._copied, iterator))
        stream = _stream_of(self._device)
        if self._prefetch == "thread":
            return _one_ahead_in_thread(self._copied_and_waited_for(iterator, stream))
        return _one_ahead(self._copied_on(iterator, stream))

    def _copied_in_step(self, batch: B) -> Arriving[B]:
        return Arriving(batch, lambda: moved(batch, self._device, non_blocking=self._non_blocking))

    def _copied(self, batch: B) -> Arriving[B]:
        there = moved(batch, self._device)
        return Arriving(there, lambda: there)

    def _copied_and_waited_for(
        self, iterator: Iterator[B], stream: torch.cuda.Stream
    ) -> Iterator[Arriving[B]]:
        for arriving in self._copied_on(iterator, stream, is_waited_for=True):
            stream.synchronize()  # blocks the background thread alone
            yield arriving

    def _copied_on(
        self, iterator: Iterator[B], stream: torch.cuda.Stream, *, is_waited_for: bool = False
    ) -> Iterator[Arriving[B]]:
        for batch in iterator:
            timed = self._copying(stream, is_waited_for=is_waited_for)
            with torch.cuda.stream(stream), timed:
                # Whatever the knob's value is: the handover waits for the event below.
                there = moved(batch, self._device, non_blocking=True)
                copied = stream.record_event()
            yield Arriving(there, _Handover(there, copied, self._device))


@cache
def _stream_of(device: torch.device) -> torch.cuda.Stream:
    """The stream that batches are copied on to ``device``, in every epoch and evaluation.

    torch keeps the memory that was used on a stream for that stream alone: a new one would ask
    the driver for all of it again.
    """
    return torch.cuda.Stream(device)


class _Handover(Generic[B]):
    """Handover of a batch from the stream that copies it to the current one."""

    def __init__(self, batch: B, copied: torch.cuda.Event, device: torch.device) -> None:
        self._batch = batch
        self._copied = copied
        self._device = device

    def __call__(self) -> B:
        current = torch.cuda.current_stream(self._device)
        # The device waits before its next kernel; this thread continues.
        current.wait_event(self._copied)
        # Else the allocator would give the memory to the next copy while it is computed with.
        keep_for(self._batch, current)
        return self._batch


def _one_ahead(iterator: Iterator[B]) -> Iterator[B]:
    """Yield an item once the next one has been asked for."""
    missing = object()
    item: object = next(iterator, missing)
    while item is not missing:
        following = next(iterator, missing)
        yield item  # type: ignore[misc]
        item = following


def _one_ahead_in_thread(iterator: Iterator[B]) -> Iterator[B]:
    """Yield an item while a background thread gets the next one."""
    # One thread, as a generator cannot run in two. An epoch that is left early waits at the end of
    # the block for the batch under way.
    with ThreadPoolExecutor(1, thread_name_prefix="prefetch") as thread:
        pending = thread.submit(next, iterator, None)
        while (item := pending.result()) is not None:
            pending = thread.submit(next, iterator, None)
            yield item
