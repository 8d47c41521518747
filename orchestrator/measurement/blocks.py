"""Steps, their phases, and blocks: consecutive steps, the grain in which a run keeps its times.

A run's steps are stored as blocks: a million steps are thousands of blocks. Nothing
here needs torch, so that tables can be made of them anywhere.

A loader works ahead. While the first step of an epoch waits for its batch, the batches of
the whole first round are made too, and in the last round none is made any more. An epoch of any
length continues as it does between the two, so only that middle is the steady state. An epoch too
short to have a middle has only the rate of the whole of it.

A step begins when the loop asks for a batch and ends when it asks for the next one. The first
of an epoch begins with the epoch, before its loader is started, and the last one ends with the
loader: the time of a loader to start and to end is in some step.
The rest of a step is ``other``: Python between them, logging, read-backs.
"""

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from itertools import pairwise
from typing import Any, Final

MAX_BLOCKS_PER_EPOCH = 256
"""Most blocks of an epoch; a longer one has longer blocks."""
MAX_BLOCKS_PER_SLICE = 4
"""The same of a time slice."""

PREFETCH_FACTOR: Final = 2
"""Batches that each worker of PyTorch's loader makes ahead by default."""
LEAST_BURST: Final = 2
"""Least burst of a loader with workers: of a burst of one step the loader's end is not cut off."""

Row = tuple[int, int, int, int, float, int]
"""Block as it is sent: epoch, first step, steps, samples, seconds, index in ``_ENDS``."""


class Dropped(StrEnum):
    """Reason for which a block does not count towards the steady state."""

    EPOCH_START = "epoch_start"
    """Loader's first round: its batches were made while the loop waited for the first of them."""
    EPOCH_END = "epoch_end"
    """Loader's last round: it makes no batches any more."""
    SLICE_START = "slice_start"
    """First round of a time slice: some of its batches were under way before."""
    WARM_UP = "warm_up"
    """Blocks before the steady state; see :func:`throughput.warm_up`."""


_ENDS = (None, Dropped.EPOCH_START, Dropped.EPOCH_END, Dropped.SLICE_START)


@dataclass(frozen=True, kw_only=True, slots=True)
class Block:
    """Consecutive steps of one epoch.

    Attributes:
        epoch: Index of the epoch, from 0.
        first_step: Index of its first step within the epoch, from 0.
        num_steps: Steps in it.
        samples: Training samples in them, over all ranks.
        duration_s: Sum of their durations, without the time between steps.
        end: End of the epoch or of a time slice; None for the steady state.
        phases: Sum of each phase's seconds.
        host_s: Sum of the host's seconds; None where the clock is the host's own.
    """

    epoch: int
    first_step: int
    num_steps: int
    samples: int
    duration_s: float
    end: Dropped | None
    phases: "Mapping[Phase, float]"
    host_s: float | None = None

    def to_row(self) -> Row:
        """Return the block without its phases, for another process."""
        place = (self.epoch, self.first_step, self.num_steps, self.samples)
        return (*place, round(self.duration_s, 9), _ENDS.index(self.end))

    @classmethod
    def from_row(cls, row: Row) -> "Block":
        """Return the inverse of :meth:`to_row`."""
        epoch, first_step, num_steps, samples = (int(value) for value in row[:4])
        return cls(
            epoch=epoch,
            first_step=first_step,
            num_steps=num_steps,
            samples=samples,
            duration_s=row[4],
            end=_ENDS[int(row[5])],
            phases={},
        )


def blocks_of(
    epoch: int,
    steps: "Sequence[Step]",
    *,
    burst: int = 1,
    first_step: int = 0,
    begins: Dropped | None = Dropped.EPOCH_START,
    whole: bool = True,
) -> list[Block]:
    """Return the blocks of consecutive steps of one epoch.

    A block has two rounds of the loader, so that its rate does not depend on where in a
    burst it begins; a rest too short for a block joins the one before it. The ends of the
    epoch are separate blocks; an epoch that is too short for that is one block.

    Args:
        epoch: Index of the epoch, from 0.
        steps: The steps, in order, read.
        burst: Steps that the loader works ahead, after which its pattern repeats: workers
            times prefetch factor.
        first_step: Index of the first of ``steps`` within the epoch.
        begins: Reason for dropping their first round, where the epoch or a time slice begins with
            them; None where they continue others.
        whole: True where the loader's last round is among them. Where the budget ends the epoch
            it is not, and no end is cut off.
    """
    if not steps:
        return []
    start, tail = _ends(burst)
    start, tail = start if begins else 0, tail if whole else 0
    least = start + (2 * burst if burst > 1 else 1) + tail  # steps with a steady state
    if begins is Dropped.EPOCH_START and len(steps) < least:
        return [_block(epoch, steps, 0)]
    last = max(len(steps) - tail, start)
    most = MAX_BLOCKS_PER_SLICE if begins is Dropped.SLICE_START else MAX_BLOCKS_PER_EPOCH
    bounds = [start, *_bounds(last - start, burst, most, begin=start), last]
    blocks = [_block(epoch, steps[:start], first_step, end=begins)] if start else []
    for begin, end in pairwise(bounds):
        if end > begin:
            blocks.append(_block(epoch, steps[begin:end], first_step + begin))
    if steps[last:]:
        blocks.append(_block(epoch, steps[last:], first_step + last, end=Dropped.EPOCH_END))
    return blocks


def _ends(burst: int) -> tuple[int, int]:
    """Return the number of steps at the start and at the end of an epoch that are not steady."""
    return burst, burst if burst > 1 else 0


def _bounds(num_steps: int, burst: int, most: int, *, begin: int) -> list[int]:
    """Return the inner bounds of ``most`` blocks of ``num_steps`` from ``begin`` on."""
    size = max(2 * burst, math.ceil(num_steps / most), 1)
    return [begin + size * (index + 1) for index in range(num_steps // size - 1)]


def _block(
    epoch: int, steps: "Sequence[Step]", first_step: int, *, end: Dropped | None = None
) -> Block:
    phases: dict[Phase, float] = {}
    for step in steps:
        for phase, begins, ends in ((Phase.WAIT, step.begin, step.received), *step.phases):
            phases[phase] = phases.get(phase, 0.0) + ends - begins
    return Block(
        epoch=epoch,
        first_step=first_step,
        num_steps=len(steps),
        samples=sum(step.samples for step in steps),
        duration_s=sum(step.end - step.begin for step in steps),
        end=end,
        phases=phases,
        host_s=None if steps[0].host_s is None else sum(step.host_s or 0.0 for step in steps),
    )


def burst_of(loader: object) -> int:
    """Return the steps that a loader works ahead; 1 where it is not known.

    PyTorch's loaders have workers and batches that each prefetches, two by default. A loader whose
    steps have several batches has ``steps_ahead``. With workers it is at least 2.
    """
    ahead = getattr(loader, "steps_ahead", None)
    if ahead is None:
        ahead = getattr(loader, "num_workers", 0)
        if type(ahead) is int and ahead > 0:
            each = getattr(loader, "prefetch_factor", None)
            ahead = max(ahead * (each if type(each) is int else PREFETCH_FACTOR), LEAST_BURST)
    return max(ahead, 1) if type(ahead) is int else 1


def workers_of(loader: object) -> int:
    """Return the worker processes of a loader; 0 where they are not known."""
    workers = getattr(loader, "num_workers", 0)
    return max(workers, 0) if type(workers) is int else 0


def num_whole(num_steps: int, *, burst: int, begins: bool) -> int:
    """Return the number of the first ``num_steps`` pending steps that fill whole blocks.

    Steps that may turn out to be the epoch's end are left.

    Args:
        num_steps: Steps that are pending.
        burst: As for :func:`blocks_of`.
        begins: True where an epoch or a time slice begins with them.
    """
    start, tail = _ends(burst)
    start = start if begins else 0
    size = 2 * burst
    middle = (num_steps - start - tail) // size * size
    return start + middle if middle > 0 else 0


class Phase(StrEnum):
    """Part of a step."""

    WAIT = "wait"
    TRANSFER = "transfer"
    FORWARD = "forward"
    BACKWARD = "backward"
    OPTIMIZER = "optimizer"

    @classmethod
    def _missing_(cls, value: object) -> None:
        raise ValueError(f"{value!r:.80} is no phase of a step; allowed: {', '.join(cls)}")


@dataclass(slots=True)
class Step:
    """One step of an epoch. With slots: one is made a step, within what is timed.

    Times are marks of a clock until they are read, then seconds since the run's clock began.

    Attributes:
        begin: Time at which the loop asked for the batch.
        received: Time at which it had the batch.
        end: Time at which it was done with it; of an epoch's last one, its loader having ended.
        samples: Training samples in the batch, over all ranks.
        host_s: Time of the host from the batch on; None where the clock is the host's own.
        phases: Begin and end of each phase that the loop names.
    """

    begin: Any
    received: Any = None
    end: Any = None
    samples: int = 0
    host_s: float | None = None
    phases: list[tuple[Phase, Any, Any]] = field(default_factory=list)

    def times(self) -> Iterator[Any]:
        """Yield all times, in the order in which :meth:`read` takes them."""
        yield from (self.begin, self.received, self.end)
        for _, begin, end in self.phases:
            yield from (begin, end)

    def read(self, seconds: Iterator[float]) -> None:
        """Replace marks by their seconds."""
        self.begin, self.received, self.end = next(seconds), next(seconds), next(seconds)
        self.phases = [(phase, next(seconds), next(seconds)) for phase, _, _ in self.phases]


@dataclass(frozen=True, kw_only=True)
class Epoch:
    """One pass over the training data, or as far as it got, its times in seconds.

    Attributes:
        index: From 0.
        start_s: From its beginning to the first batch: worker start-up and the first fetch.
        duration_s: Until its loader had nothing left, its workers having ended where they do
            not persist; of one that is not whole, until its last step was done.
        is_whole: True where the loader had nothing left.
    """

    index: int
    start_s: float
    duration_s: float
    is_whole: bool = True
