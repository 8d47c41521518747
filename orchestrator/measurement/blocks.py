"""Blocks: consecutive steps of one epoch, the grain in which a run keeps its times.

They are what is kept of a run's steps: a million steps are thousands of blocks. Nothing
here needs torch, so that tables can be made of them anywhere.

A loader works ahead. While the first step of an epoch waits for its batch, the batches of
the whole first round are made too, and the last round is taken when none is made any more:
between the two lies what an epoch of any length would go on with, and only that is the
steady state. An epoch too short to have such a middle has one rate to speak of, its own, from
its start to its end.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from itertools import pairwise
from typing import Any

from orchestrator.measurement.steps import Phase, Step

MAX_BLOCKS_PER_EPOCH = 256
"""A long epoch has longer blocks instead of more of them."""
MAX_BLOCKS_PER_SLICE = 4
"""So has a long turn."""

Row = Sequence[float]
"""A block as it is sent: epoch, first step, steps, samples, seconds, index in ``_ENDS``."""


class Dropped(StrEnum):
    """Why a block does not count towards the steady state."""

    EPOCH_START = "epoch_start"
    """The loader's first round: its batches were made while the first of them was waited for."""
    EPOCH_END = "epoch_end"
    """Its last round: nothing is made any more while it is used."""
    SLICE_START = "slice_start"
    """The first round after others' turns: some of its batches were under way before."""
    WARM_UP = "warm_up"
    """It came before the steady state; see :func:`throughput.warm_up`."""


_ENDS = (None, Dropped.EPOCH_START, Dropped.EPOCH_END, Dropped.SLICE_START)


@dataclass(frozen=True, kw_only=True, slots=True)
class Block:
    """Consecutive steps of one epoch.

    Attributes:
        epoch: Index of the epoch, from 0.
        first_step: Index of its first step within the epoch, from 0.
        num_steps: Steps in it.
        samples: Training samples in them, over all ranks.
        duration_s: Sum of their durations; what lies between steps is not in it.
        end: Which end of the epoch, or of a turn, it is, if it is one.
        phases: Sum of each phase's seconds.
        host_s: Sum of the host's seconds; None where the clock is the host's own.
    """

    epoch: int
    first_step: int
    num_steps: int
    samples: int
    duration_s: float
    end: Dropped | None
    phases: Mapping[Phase, float]
    host_s: float | None = None

    def to_row(self) -> Row:
        """Without its phases, for another process."""
        place = (self.epoch, self.first_step, self.num_steps, self.samples)
        return (*place, round(self.duration_s, 9), _ENDS.index(self.end))

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
            end=_ENDS[int(row[5])],
            phases={},
        )


def blocks_of(
    steps: Sequence[Step],
    *,
    burst: int = 1,
    first_step: int = 0,
    begins: Dropped | None = Dropped.EPOCH_START,
    whole: bool = True,
) -> list[Block]:
    """The blocks of consecutive steps of one epoch.

    A block holds two rounds of the loader, so that its rate is no accident of where in a
    burst it begins; a rest too short for a block joins the one before it. The ends of the
    epoch are blocks of their own; an epoch that is too short for that is one block.

    Args:
        steps: The steps, in order.
        burst: Steps that the loader works ahead, after which its pattern repeats: workers
            times prefetch factor.
        first_step: Index of the first of ``steps`` within the epoch.
        begins: What begins with them, the epoch or a turn; None where they go on from others.
        whole: Whether the epoch ends with them.
    """
    if not steps:
        return []
    if whole and begins is Dropped.EPOCH_START and len(steps) < _shortest(burst):
        return [_block(steps, 0)]
    start, tail = _ends(burst)
    start, tail = start if begins else 0, tail if whole else 0
    last = max(len(steps) - tail, start)
    most = MAX_BLOCKS_PER_SLICE if begins is Dropped.SLICE_START else MAX_BLOCKS_PER_EPOCH
    cuts = [start, *_cuts(last - start, burst, most, begin=start), last]
    blocks = [_block(steps[:start], first_step, end=begins)] if start else []
    for begin, end in pairwise(cuts):
        if end > begin:
            blocks.append(_block(steps[begin:end], first_step + begin))
    if steps[last:]:
        blocks.append(_block(steps[last:], first_step + last, end=Dropped.EPOCH_END))
    return blocks


def _ends(burst: int) -> tuple[int, int]:
    """Steps at the start and at the end of an epoch that are not its steady state."""
    return burst, burst if burst > 1 else 0


def _shortest(burst: int) -> int:
    """Steps of the shortest epoch that has a steady state."""
    return sum(_ends(burst)) + (2 * burst if burst > 1 else 1)


def _cuts(num_steps: int, burst: int, most: int, *, begin: int) -> list[int]:
    """Where ``num_steps`` steps from ``begin`` on are cut into blocks, ``most`` at most."""
    size = max(2 * burst, math.ceil(num_steps / most), 1)
    return [begin + size * (index + 1) for index in range(num_steps // size - 1)]


def _block(steps: Sequence[Step], first_step: int, *, end: Dropped | None = None) -> Block:
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
        end=end,
        phases=phases,
        host_s=None if steps[0].host_s is None else sum(step.host_s or 0.0 for step in steps),
    )


def num_whole(num_steps: int, *, burst: int, begins: bool) -> int:
    """How many of the first ``num_steps`` pending steps of an epoch fill blocks.

    What may yet turn out to be the epoch's end is left.

    Args:
        num_steps: Steps that are pending.
        burst: As for :func:`blocks_of`.
        begins: Whether an epoch or a turn begins with them.
    """
    start, tail = _ends(burst)
    start = start if begins else 0
    size = 2 * burst
    middle = (num_steps - start - tail) // size * size
    return start + middle if middle > 0 else 0


def to_rows(blocks: Sequence[Block]) -> list[Any]:
    """Blocks as they are sent and kept."""
    return [block.to_row() for block in blocks]
