"""Time slices: a trial that shares its cores with others, of which one runs at a time.

The speed of a host changes over seconds and minutes. Runs that are made one after another are
distinguished by the host's load meanwhile; runs interleaved in slices of a fifth of a second meet
the same host. A slice ends between two steps or two epochs, never within a step. The trial's own
clock stands still during the other trials' slices. Setting up and evaluating are not interrupted:
such a slice is longer.

Slices wrap the iterator of batches (:meth:`TimeSlices.divide`). A trial that is not interleaved
has no wrapper, so its steps cost nothing more.
"""

import time
from collections.abc import Callable, Iterable, Iterator
from contextlib import AbstractContextManager, nullcontext, suppress
from functools import partial
from typing import Final, TypeVar

B = TypeVar("B")

SLICE_S: Final = 0.2
"""Least length of a slice."""
SLICE_SHARE: Final = 0.01
"""Least length of a slice as a share of the trial's own time so far: a trial of any length has a
few hundred slices."""
MIN_ROUNDS: Final = 6
"""Least rounds of the loader in a slice that ends within an epoch. The first of them is no steady
state: its batches were under way when the slice began, and the caches were another trial's."""


class TimeSlices:
    """Time slices of one trial.

    Args:
        wait: Ends a slice and returns when the next one begins. Takes the trial's progress as a
            fraction of its budget.
        slice_s: Least length of a slice, s.
        clock: Seconds from any origin.

    Attributes:
        pausing: Makes a context of the other trials' slices, for the clock of a device.
    """

    def __init__(
        self,
        wait: Callable[[float], None],
        *,
        slice_s: float = SLICE_S,
        clock: Callable[[], float] = time.perf_counter,
    ) -> None:
        self._wait = wait
        self._slice_s = slice_s
        self._clock = clock
        self.pausing: Callable[[], AbstractContextManager[None]] = nullcontext
        self._waited_s = 0.0
        self._slice_began = self._trial_began = clock()

    def now(self) -> float:
        """Return seconds from any origin, without the other trials' slices."""
        return self._clock() - self._waited_s

    def divide(
        self,
        batches: Iterable[B],
        num_batches: int | None,
        close: Callable[[float], float],
        *,
        burst: int = 1,
    ) -> Iterator[B]:
        """Yield the batches of one epoch; end slices between them.

        Args:
            batches: Of one epoch.
            num_batches: Their number, None where it is not known. In its last round a loader makes
                no more batches, so that round stays in one slice with the end of the epoch.
            close: Called at the end of a slice with the finished fraction of the epoch. Returns the
                trial's progress. Its duration is in no figure of the trial.
            burst: Steps after which the loader's pattern repeats.
        """
        num_in_slice = 0
        for num_done, batch in enumerate(batches, start=1):
            yield batch
            # The loop has come back for another batch, so the step of this one is done.
            num_in_slice += 1
            if num_in_slice < MIN_ROUNDS * burst:
                continue
            is_last_round = num_batches is not None and num_batches - num_done <= burst
            if not is_last_round and self._is_long_enough():
                self._end(partial(close, num_done / num_batches if num_batches else 0.0))
                num_in_slice = 0

    def end_epoch(self, progress: float) -> None:
        """End the slice with an epoch, however short the epoch was, if the slice is long enough."""
        if self._is_long_enough():
            self._end(lambda: progress)

    def _end(self, close: Callable[[], float]) -> None:
        ended = self._clock()
        progress = close()
        with self.pausing():
            self._wait(progress)
        self._slice_began = self._clock()
        self._waited_s += self._slice_began - ended

    def _is_long_enough(self) -> bool:
        now = self._clock()
        own_s = now - self._trial_began - self._waited_s
        return now - self._slice_began >= max(self._slice_s, SLICE_SHARE * own_s)


def num_batches_of(loader: Iterable[object]) -> int | None:
    """Return a loader's number of batches; None where it has no length, or 0."""
    with suppress(TypeError, ValueError, AttributeError, NotImplementedError):
        return len(loader) or None  # type: ignore[arg-type]
    return None
