"""Stop rule: end a run once the interval of its throughput is narrow enough.

Stopping as soon as an interval looks narrow enough stops at lucky moments, and the interval
then holds the true rate less often than it says. Four things keep that small: nothing is
decided before there are enough steps; interim analyses become rarer as the run gets longer; the
interval must be narrower than asked for by a margin; and two analyses in a row must agree.
``tests/orchestrator/measurement/test_stop_rule.py`` counts how often the interval then holds.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from orchestrator.measurement.blocks import Block
from orchestrator.measurement.throughput import measure_throughput

if TYPE_CHECKING:  # it imports torch
    from orchestrator.measurement.context import Context

HALF_WIDTH = 0.03
"""Half width of an interval, as a fraction of the rate, above which it is called wide."""
MIN_STEPS = 512
"""Steps before the first analysis: rare slow steps are a part of the rate."""
MIN_BLOCKS = 64
"""Blocks before the first analysis."""
GROWTH = 1.5
"""Factor of the steps from one analysis to the next."""
MARGIN = 1.6
"""Factor by which an interval must be narrower than asked for."""
AGREEING = 2
"""Analyses in a row that must find it narrow."""


class StopRule:
    """Group-sequential rule that ends a run once its throughput is known well enough.

    Args:
        half_width: Of the interval, as a fraction of the rate.
        burst: Steps after which the loader's pattern repeats.
    """

    def __init__(self, half_width: float, *, burst: int = 1) -> None:
        self._half_width = half_width
        self._next_analysis = MIN_STEPS
        self._agreeing = 0
        self.expect_burst(burst)

    def expect_burst(self, burst: int) -> None:
        """Take the steps after which the loader's pattern repeats."""
        self._next_analysis = max(self._next_analysis, MIN_BLOCKS * 2 * burst)

    def is_due(self, num_steps: int) -> bool:
        """Return True if an interim analysis is due after so many steps."""
        return num_steps >= self._next_analysis

    def is_enough(self, num_steps: int, blocks: Sequence[Block]) -> bool:
        """Analyse the blocks of the ``num_steps`` steps so far; return True if they are enough."""
        self._next_analysis = int(num_steps * GROWTH) + 1
        throughput = measure_throughput(blocks)
        width = None if throughput is None else throughput.half_width
        narrow = width is not None and width * MARGIN <= self._half_width
        self._agreeing = self._agreeing + 1 if narrow else 0
        return self._agreeing >= AGREEING


def stop_rule(context: Context) -> StopRule | None:
    """Return the rule of a trial, or None for one that is trained in full."""
    half_width = context.budget.half_width
    if half_width is None or context.world_size > 1:
        return None
    return StopRule(half_width, burst=context.burst)
