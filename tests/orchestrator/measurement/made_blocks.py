"""Blocks of steps from their durations."""

from __future__ import annotations

from collections.abc import Sequence

from orchestrator.measurement.blocks import Block, Phase, Step, blocks_of


def blocks_from(
    durations: Sequence[Sequence[float]], *, samples: int = 10, burst: int = 1
) -> list[Block]:
    """Blocks of steps with these durations, a list an epoch."""
    blocks: list[Block] = []
    for epoch, of_epoch in enumerate(durations):
        now, steps = 0.0, []
        for duration in of_epoch:
            steps.append(Step(epoch, now, now + duration, samples, {Phase.WAIT: 0.0}))
            now += duration
        blocks += blocks_of(steps, burst=burst)
    return blocks
