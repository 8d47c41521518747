"""Turns: a trial that shares its cores with others, of which one runs at a time.

The speed of a host changes over seconds and minutes. Runs that are made one after another are
told apart by what it did meanwhile; runs that take turns of a fifth of a second meet the same host.
A turn ends between two steps or two epochs, never within a step, and the trial's own clock stands
still while it is another's. What does not train in steps, setting up or evaluating, is not
interrupted: that turn is longer.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable
from contextlib import suppress
from typing import Final

SLICE_S: Final = 0.2
"""A turn lasts so long at least."""
SLICE_WITH_BACKGROUND_S: Final = 2.0
"""The same where in some turns others train beside it, to see what that costs: where the cores are
contended it seems to cost less in short ones. Likely since the other cores are idle in the turns
without company, in which the driver and the like do what they have put off."""
PART: Final = 0.01
"""And this part of all that the trial has had: a trial of any length has some hundreds."""
ROUNDS: Final = 6
"""And so many of the loader's rounds, where it ends within an epoch. The first of them is no steady
state: its batches were under way, and the caches another's, when the turn began."""


class TimeSlices:
    """One trial's turns.

    Args:
        wait: Ends a turn and returns when the next one has come. It is told how far the trial is,
            as a fraction of its budget.
        burst: Steps after which the loader's pattern repeats.
        slice_s: Least length of a turn, s.
    """

    def __init__(
        self, wait: Callable[[float], None], *, burst: int = 1, slice_s: float = SLICE_S
    ) -> None:
        self._wait = wait
        self._slice_s = slice_s
        self._burst = burst
        self._num_steps = 0
        self._waited_s = 0.0
        self._began = self._first = time.perf_counter()

    def now(self) -> float:
        """Seconds from any origin, without those of the others' turns."""
        return time.perf_counter() - self._waited_s

    def may_end_after_step(self, *, num_left: int | None = None) -> bool:
        """Counts a step; returns whether the turn may end with it.

        Args:
            num_left: Steps that are left of the epoch, None where that is not known. Its last
                round, in which the loader makes nothing any more, is of one turn with its end.
        """
        self._num_steps += 1
        is_last_round = num_left is not None and num_left <= self._burst
        return (
            self._num_steps >= ROUNDS * self._burst and not is_last_round and self._is_long_enough()
        )

    def may_end_after_epoch(self) -> bool:
        """Counts an epoch; returns whether the turn may end with it, however short it was."""
        self._num_steps = 0
        return self._is_long_enough()

    def wait(self, progress: float) -> None:
        """Lets the others have their turns."""
        ended = time.perf_counter()
        self._wait(progress)
        self._began, self._num_steps = time.perf_counter(), 0
        self._waited_s += self._began - ended

    def _is_long_enough(self) -> bool:
        now = time.perf_counter()
        had_s = now - self._first - self._waited_s
        return now - self._began >= max(self._slice_s, PART * had_s)


def num_batches_of(loader: Iterable[object]) -> int | None:
    """Batches of an epoch as a loader says; None where it does not, or says 0."""
    with suppress(TypeError, ValueError, AttributeError, NotImplementedError):
        return len(loader) or None  # type: ignore[arg-type]
    return None
