"""Intervals of rates and ratios: Student's t on the logarithm.

Run times are positive and their errors multiply, so means are geometric and intervals
lie above and below by the same factor.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

import numpy as np
import numpy.typing as npt

CONFIDENCE: Final = 0.95

Floats = npt.NDArray[np.float64]


@dataclass(frozen=True, kw_only=True)
class Interval:
    """A ratio or a rate with its 95 % interval.

    Attributes:
        centre: Geometric mean.
        low: Lower end; NaN where it is not known (one value says nothing of the spread).
        high: Upper end.
        num_values: How many values it rests on.
    """

    centre: float
    low: float
    high: float
    num_values: int

    @property
    def is_known(self) -> bool:
        """Whether there were at least two values."""
        return self.num_values >= 2


def t_quantile(df: Floats, probability: float = (1 + CONFIDENCE) / 2) -> Floats:
    """Student's t quantile at each number of degrees of freedom."""
    # scipy.stats would do, and costs a second more to import.
    from scipy.special import stdtrit

    return np.asarray(stdtrit(df, probability), dtype=np.float64)


def log_interval(values: Sequence[float] | Floats) -> Interval:
    """The geometric mean of positive values with its t interval.

    Two values that happen to be equal give an interval without width: that is what the
    formula says, and why repeats should be three or more.
    """
    logs = np.log(np.asarray(values, dtype=np.float64))
    count = len(logs)
    centre = float(np.exp(logs.mean())) if count else float("nan")
    if count < 2:
        return Interval(centre=centre, low=float("nan"), high=float("nan"), num_values=count)
    error = logs.std(ddof=1) / np.sqrt(count)
    factor = float(np.exp(t_quantile(np.array([count - 1.0]))[0] * error))
    return Interval(centre=centre, low=centre / factor, high=centre * factor, num_values=count)
