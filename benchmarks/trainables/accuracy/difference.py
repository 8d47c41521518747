"""Differences of two figures over the same seeds, with their interval."""

from __future__ import annotations

import math
import statistics
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from orchestrator.analysis.statistics.intervals import t_quantile


@dataclass(frozen=True, kw_only=True)
class Difference:
    """Paired difference: one value a seed, ours less the plain code's.

    Attributes:
        ours: A figure for each seed.
        plain: Likewise, of the same seeds in the same order.
    """

    ours: Sequence[float]
    plain: Sequence[float]

    @property
    def mean(self) -> float:
        """Mean of ours less the mean of the plain code's."""
        return statistics.mean(self._each)

    @property
    def half_width(self) -> float:
        """Half the width of the mean's 95 % interval, Student's t; NaN of one seed."""
        count = len(self._each)
        if count < 2:
            return math.nan
        deviation = statistics.stdev(self._each)
        return float(t_quantile(np.array(count - 1.0))) * deviation / math.sqrt(count)

    @property
    def _each(self) -> list[float]:
        return [a - b for a, b in zip(self.ours, self.plain, strict=True)]
