"""Figures for reports: made anew each time, unless there is so much to make them of that it shows.

They are made of all blocks and epochs so far. For a report every few milliseconds over hours that
would take longer than the training. The figures of a trial that has ended are always of all of it.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Final

from orchestrator.measurement.figures import Recording, figures, totals, verdicts

ALWAYS_UP_TO: Final = 500
"""Blocks and epochs of which the figures are made anew for each report."""
MAX_SHARE: Final = 0.02
"""Largest share of the time that goes into figures of more."""


class PacedFigures:
    """Figures and verdicts of a recording, at most so old that they took a fiftieth of the time.

    Counts and times in training and evaluation are never old.

    Args:
        clock: Seconds from any origin.
    """

    def __init__(self, clock: Callable[[], float] = time.perf_counter) -> None:
        self._clock = clock
        self._due_at = float("-inf")
        self._made: tuple[dict[str, float], dict[str, str]] = {}, {}

    def of(self, recording: Recording) -> tuple[dict[str, float], dict[str, str]]:
        """Return figures and verdicts by name."""
        began = self._clock()
        if len(recording.blocks) + len(recording.epochs) <= ALWAYS_UP_TO or began >= self._due_at:
            self._made = figures(recording), verdicts(recording)
            ended = self._clock()
            self._due_at = ended + (ended - began) / MAX_SHARE
        made, tags = self._made
        return {**made, **totals(recording)}, tags
