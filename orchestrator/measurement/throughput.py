"""Throughput: samples over time in the steady state, with an interval.

Rates are taken over blocks long enough to hold several rounds of loader bursts. A
median of step rates is no throughput: with three workers batches come in bursts, and it
was seen 2.5 times too high.
"""

from __future__ import annotations

import math
import statistics
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import groupby

from orchestrator.measurement.phases import Step

MIN_BLOCKS = 4
"""Fewer blocks than this give a rate and no interval."""
MAX_BLOCKS = 32
"""More blocks than this are merged: longer blocks are less correlated."""

# Student's t at 97.5 % for 1, 2, ... degrees of freedom.
_T_975 = (
    12.706, 4.303, 3.182, 2.776, 2.571, 2.447, 2.365, 2.306, 2.262, 2.228, 2.201, 2.179,
    2.160, 2.145, 2.131, 2.120, 2.110, 2.101, 2.093, 2.086, 2.080, 2.074, 2.069, 2.064,
    2.060, 2.056, 2.052, 2.048, 2.045, 2.042,
)  # fmt: skip


@dataclass(frozen=True, kw_only=True)
class Block:
    """Consecutive steps of one epoch, none of them its first.

    Attributes:
        samples: Samples trained in it.
        duration_s: Time it took.
        num_steps: Steps in it.
    """

    samples: int
    duration_s: float
    num_steps: int

    @property
    def rate(self) -> float:
        """Samples a second."""
        return self.samples / self.duration_s


@dataclass(frozen=True, kw_only=True)
class Throughput:
    """Samples a second in the steady state.

    Attributes:
        rate: Samples over time, warm-up and starts of epochs left out.
        low: Lower end of the 95 % interval over the run's blocks, or None.
        high: Upper end, or None.
        steady: The steps it was taken over.
    """

    rate: float
    low: float | None
    high: float | None
    steady: Sequence[Step]


def measure_throughput(steps: Sequence[Step], *, burst: int = 1) -> Throughput | None:
    """Throughput of a run, or None where it has no steady step.

    Args:
        steps: All steps so far, in order.
        burst: Steps after which the loader's pattern repeats: workers times prefetch
            factor. A block holds at least two of these.
    """
    steady = _without_epoch_starts(steps)
    size = max(2 * burst, math.ceil(len(steady) / MAX_BLOCKS), 1)
    blocks = [_block(chunk) for chunk in _chunks(steady, size)]
    dropped = warm_up([block.rate for block in blocks])
    kept = blocks[dropped:]
    if not kept:
        return None
    first = sum(block.num_steps for block in blocks[:dropped])
    rate = sum(block.samples for block in kept) / sum(block.duration_s for block in kept)
    low, high = _interval(rate, [block.rate for block in kept])
    return Throughput(rate=rate, low=low, high=high, steady=steady[first:])


def warm_up(rates: Sequence[float]) -> int:
    """Number of leading blocks to drop, at most half of them.

    The marginal standard error rule (MSER): drop as many as make the standard error of
    the rest smallest. White, "An effective truncation heuristic for bias reduction in
    simulation output", Simulation 69(6), 1997.
    """
    candidates = range(len(rates) // 2 + 1)

    def squared_error(dropped: int) -> float:
        rest = rates[dropped:]
        return statistics.pvariance(rest) / len(rest) if len(rest) > 1 else math.inf

    return min(candidates, key=squared_error, default=0)


def _without_epoch_starts(steps: Sequence[Step]) -> list[Step]:
    by_epoch = [list(group) for _, group in groupby(steps, key=lambda step: step.epoch)]
    # The only step of an epoch is all that there is of it: kept, the start of the epoch in it.
    return [step for epoch in by_epoch for step in epoch[1:] or epoch]


def _chunks(steps: Sequence[Step], size: int) -> list[list[Step]]:
    """Runs of ``size`` steps within an epoch; a short rest joins the run before it."""
    chunks: list[list[Step]] = []
    for _, group in groupby(steps, key=lambda step: step.epoch):
        epoch = list(group)
        count = max(len(epoch) // size, 1)
        ends = [size * (i + 1) for i in range(count - 1)] + [len(epoch)]
        chunks += [epoch[begin:end] for begin, end in zip([0, *ends], ends, strict=False)]
    return chunks


def _block(steps: Sequence[Step]) -> Block:
    return Block(
        samples=sum(step.samples for step in steps),
        duration_s=steps[-1].end_s - steps[0].begin_s,
        num_steps=len(steps),
    )


def _interval(rate: float, rates: Sequence[float]) -> tuple[float | None, float | None]:
    if len(rates) < MIN_BLOCKS:
        return None, None
    error = statistics.stdev(rates) / math.sqrt(len(rates))
    half = t_975(len(rates) - 1) * error
    return max(rate - half, 0.0), rate + half


def t_975(degrees: int) -> float:
    """Student's t at 97.5 %, at least as large as the exact one beyond 30 degrees."""
    return _T_975[min(degrees, len(_T_975)) - 1]
