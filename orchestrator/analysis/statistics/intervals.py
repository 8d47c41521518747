"""Intervals of rates and ratios: Student's t on the logarithm.

Run times are positive and their errors multiply, so means are geometric and intervals
lie above and below by the same factor.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from typing import Final

import numpy as np
import numpy.typing as npt

from orchestrator.analysis.wording import MOST_FACTOR

CONFIDENCE: Final = 0.95

_SLICES: Final = 4000

Floats = npt.NDArray[np.float64]


@dataclass(frozen=True, kw_only=True)
class Interval:
    """A ratio or a rate with its 95 % interval.

    Attributes:
        centre: Geometric mean.
        low: Lower end; NaN if it is not known (one value shows no spread).
        high: Upper end.
        num_values: How many values it rests on.
    """

    centre: float
    low: float
    high: float
    num_values: int

    @property
    def is_known(self) -> bool:
        """True if there were at least two values."""
        return self.num_values >= 2


def is_narrow(low: float | None, high: float | None) -> bool:
    """Return True if an interval gives a figure; False if an end is not known.

    Its ends are positive and less than a factor of
    :data:`~orchestrator.analysis.wording.MOST_FACTOR` apart.
    """
    if low is None or high is None:
        return False
    return bool(low > 0 and high < low * MOST_FACTOR)


def t_quantile(df: Floats | float, probability: float = (1 + CONFIDENCE) / 2) -> Floats:
    """Return Student's t quantile at each number of degrees of freedom."""
    # scipy.stats would do, and costs a second more to import.
    from scipy.special import stdtrit

    values, places = np.unique(df, return_inverse=True)  # most configs share theirs
    return np.asarray(stdtrit(values, probability), dtype=np.float64)[places]


def two_sided_p(t: Floats | float, df: Floats | float) -> Floats:
    """Return the probability of values at least as far from 0 as ``t``, by Student's t."""
    from scipy.special import stdtr

    return np.asarray(2 * stdtr(df, -np.abs(t)), dtype=np.float64)


def df_of_sum(variances: Floats, df: Floats, is_pooled: npt.NDArray[np.bool_]) -> float:
    """Return the degrees of freedom of a sum of variances; those of one pool are one of its terms.

    Source: Satterthwaite, "An approximate distribution of estimates of variance components",
    Biometrics Bulletin 2, 1946.
    """
    squares = float((variances[~is_pooled] ** 2 / df[~is_pooled]).sum())
    if is_pooled.any():
        squares += float(variances[is_pooled].sum()) ** 2 / float(df[is_pooled].min())
    return float(variances.sum()) ** 2 / squares if squares else float(df.min())


@cache
def comparison_quantile(num_comparisons: int, df: float) -> float:
    """Return the standard errors that no difference of a group exceeds in 95 % of cases.

    The quantile of the studentized maximum modulus: the largest of ``num_comparisons``
    independent normal values over one estimated standard deviation. Differences from a
    common reference are positively correlated: for them it is slightly too large, never
    too small, whatever the numbers of runs. For one comparison it is Student's t.

    Source: Sidak, "Rectangular confidence regions for the means of multivariate normal
    distributions", Journal of the American Statistical Association 62, 1967.
    """
    from scipy.special import gammaincinv, ndtr

    # Over the distribution of the estimated deviation, in slices of equal probability.
    slices = (np.arange(_SLICES) + 0.5) / _SLICES
    deviations = np.sqrt(gammaincinv(df / 2, slices) * 2 / df)
    low, high = 0.0, 1e4
    while high - low > 1e-6 * high:
        middle = (low + high) / 2
        share = ((2 * ndtr(middle * deviations) - 1) ** num_comparisons).mean()
        low, high = (middle, high) if share < CONFIDENCE else (low, middle)
    return high


def log_interval(values: Sequence[float] | Floats, *, level: float = 1 - CONFIDENCE) -> Interval:
    """Return the geometric mean of positive values and its t interval.

    Args:
        values: Positive values.
        level: Share of cases in which the interval may be wrong.
    """
    logs = np.log(np.asarray(values, dtype=np.float64))
    count = len(logs)
    variance = logs.var(ddof=1) / count if count > 1 else math.nan
    mean = logs.mean() if count else math.nan
    return _around(mean, variance, df=count - 1, num_values=count, level=level)


def _around(
    log: float, variance: float, *, df: int, num_values: int, level: float = 1 - CONFIDENCE
) -> Interval:
    """Return the t interval of the exponential of ``log``; without ends if ``df`` is below 1."""
    factor = math.nan
    if df > 0:
        factor = np.exp(t_quantile(df, 1 - level / 2) * np.sqrt(variance))
    centre = float(np.exp(log))
    low, high = float(centre / factor), float(centre * factor)
    return Interval(centre=centre, low=low, high=high, num_values=num_values)


def ratio_interval(
    values: Sequence[float] | Floats, reference: Sequence[float] | Floats
) -> Interval:
    """Return the ratio of two geometric means, and its t interval with their pooled variance.

    Args:
        values: Positive values, at least one.
        reference: Positive values to compare them with, at least one. With one value of each, the
            spread, and so the interval, is not known.
    """
    ours, theirs = (np.log(np.asarray(v, dtype=np.float64)) for v in (values, reference))
    df = len(ours) + len(theirs) - 2
    squares = sum(float(((logs - logs.mean()) ** 2).sum()) for logs in (ours, theirs))
    variance = squares / df * (1 / len(ours) + 1 / len(theirs)) if df else math.nan
    return _around(ours.mean() - theirs.mean(), variance, df=df, num_values=df + 2)
