"""Blocks: consecutive steps of one epoch, the grain in which a run keeps its times.

They are what is kept of a run's steps: a million steps are thousands of blocks. Nothing
here needs torch, so that tables can be made of them anywhere.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from orchestrator.measurement.phases import Phase, Step

MAX_BLOCKS_PER_EPOCH = 256
"""A long epoch has longer blocks instead of more of them."""

Row = Sequence[float]
"""A block as it is sent: epoch, first step, steps, samples, seconds, whether a start."""


class Dropped(StrEnum):
    """Why a block does not count towards the steady state."""

    EPOCH_START = "epoch_start"
    """The first step of an epoch: its loader had to be started."""
    WARM_UP = "warm_up"
    """It came before the steady state; see :func:`throughput.warm_up`."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Block:
    """Consecutive steps of one epoch.

    Attributes:
        epoch: Index of the epoch, from 0.
        first_step: Index of its first step within the epoch, from 0.
        num_steps: Steps in it.
        samples: Training samples in them, over all ranks.
        duration_s: Sum of their durations; what lies between steps is not in it.
        is_start: Whether it is the first step of an epoch that has others.
        phases: Sum of each phase's seconds.
        host_s: Sum of the host's seconds; None where the clock is the host's own.
    """

    epoch: int
    first_step: int
    num_steps: int
    samples: int
    duration_s: float
    is_start: bool
    phases: Mapping[Phase, float]
    host_s: float | None = None

    def to_row(self) -> Row:
        """Without its phases, for another process."""
        place = (self.epoch, self.first_step, self.num_steps, self.samples)
        return (*place, round(self.duration_s, 9), int(self.is_start))

    @classmethod
    def from_row(cls, row: Row) -> Block:
        """The inverse of :meth:`to_row`."""
        epoch, first_step, num_steps, samples = (int(value) for value in row[:4])
        return cls(
            epoch=epoch,
            first_step=first_step,
            num_steps=num_steps,
            samples=samples,
            duration_s=row[4],
            is_start=bool(row[5]),
            phases={},
        )


def blocks_of(
    steps: Sequence[Step], *, burst: int = 1, first_step: int = 0, whole: bool = True
) -> list[Block]:
    """The blocks of consecutive steps of one epoch.

    A block holds two rounds of the loader, so that its rate is no accident of where in a
    burst it begins. The first step of an epoch is a block of its own, unless it is the only
    one; a rest too short for a block joins the one before it.

    Args:
        steps: The steps, in order.
        burst: Steps after which the loader's pattern repeats: workers times prefetch factor.
        first_step: Index of the first of ``steps`` within the epoch.
        whole: Whether the epoch ends with them.
    """
    starts = steps[: int(first_step == 0 and (len(steps) > 1 or not whole))]
    rest = steps[len(starts) :]
    size = max(2 * burst, math.ceil(len(rest) / MAX_BLOCKS_PER_EPOCH), 1)
    count = max(len(rest) // size, 1)
    ends = [*(size * (index + 1) for index in range(count - 1)), len(rest)]
    blocks = [_block(starts, first_step, is_start=True)] if starts else []
    for begin, end in zip([0, *ends], ends, strict=False):
        if end > begin:
            blocks.append(_block(rest[begin:end], first_step + len(starts) + begin))
    return blocks


def _block(steps: Sequence[Step], first_step: int, *, is_start: bool = False) -> Block:
    phases: dict[Phase, float] = {}
    for step in steps:
        for phase, seconds in step.phases.items():
            phases[phase] = phases.get(phase, 0.0) + seconds
    return Block(
        epoch=steps[0].epoch,
        first_step=first_step,
        num_steps=len(steps),
        samples=sum(step.samples for step in steps),
        duration_s=sum(step.duration_s for step in steps),
        is_start=is_start,
        phases=phases,
        host_s=None if steps[0].host_s is None else sum(step.host_s or 0.0 for step in steps),
    )


def num_whole(num_steps: int, *, burst: int, first_step: int) -> int:
    """How many of the first ``num_steps`` pending steps of an epoch fill blocks."""
    start = int(first_step == 0)
    size = 2 * burst
    return start + (num_steps - start) // size * size if num_steps > start + size - 1 else 0


def to_rows(blocks: Sequence[Block]) -> list[Any]:
    """Blocks as they are sent and kept."""
    return [block.to_row() for block in blocks]
