"""When enough has been measured: a stop rule for an interval of a given width.

Stopping as soon as an interval looks narrow enough stops at lucky moments, and the interval
then holds the true rate less often than it says. Four things keep that small: nothing is
decided before there is something to decide on; looks become rarer as the run gets longer;
the interval must be narrower than asked for by a margin; and two looks in a row must agree.
``python -m benchmarks.stopping`` counts how often the interval then holds.
"""

from __future__ import annotations

from collections.abc import Sequence

from orchestrator.measurement.blocks import Block
from orchestrator.measurement.context import Context
from orchestrator.measurement.throughput import measure_throughput

HALF_WIDTH = 0.03
"""Wider than this fraction of the rate an interval is called wide."""
MIN_STEPS = 512
"""Rare slow steps are a part of the rate: none is looked for in fewer steps."""
MIN_BLOCKS = 64
GROWTH = 1.5
"""Steps from one look to the next, as a factor."""
MARGIN = 1.6
"""How much narrower than asked for an interval must be."""
AGREEING = 2


class StopRule:
    """Says when the throughput of a run is known well enough.

    Args:
        half_width: Of the interval, as a fraction of the rate.
        burst: Steps after which the loader's pattern repeats.
    """

    def __init__(self, half_width: float, *, burst: int = 1) -> None:
        self._half_width = half_width
        self._next_look = max(MIN_STEPS, MIN_BLOCKS * 2 * burst)
        self._agreeing = 0

    def is_due(self, num_steps: int) -> bool:
        """Whether to look after so many steps."""
        return num_steps >= self._next_look

    def is_enough(self, num_steps: int, blocks: Sequence[Block]) -> bool:
        """Looks at the blocks of the ``num_steps`` steps so far."""
        self._next_look = int(num_steps * GROWTH) + 1
        found = measure_throughput(blocks)
        width = None if found is None else found.half_width
        narrow = width is not None and width * MARGIN <= self._half_width
        self._agreeing = self._agreeing + 1 if narrow else 0
        return self._agreeing >= AGREEING


def stop_rule(context: Context) -> StopRule | None:
    """The rule of a trial, or None for one that is trained in full."""
    half_width = context.budget.half_width
    if half_width is None or context.world_size > 1:
        return None
    return StopRule(half_width, burst=context.burst)
