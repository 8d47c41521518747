"""Intervals of rates and ratios: Student's t on the logarithm.

Run times are positive and their errors multiply, so means are geometric and intervals
lie above and below by the same factor.
"""

import math
from functools import cache
from typing import Final, NamedTuple

import numpy as np
import numpy.typing as npt

from orchestrator.analysis.wording import MOST_FACTOR

CONFIDENCE: Final = 0.95

_SLICES: Final = 4000

Floats = npt.NDArray[np.float64]


class Interval(NamedTuple):
    """A mean, a ratio or a rate with the ends of its 95 % interval, NaN if they are not known."""

    centre: float
    low: float
    high: float


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


def mean_interval(values: Floats, reference: Floats | None = None) -> Interval:
    """Return the mean of some values, less the mean of a reference if there is one.

    With Student's t interval by their pooled variance; a single value of each shows no spread.

    Args:
        values: Values, at least one.
        reference: Values to compare them with, at least one.
    """
    samples = [values] if reference is None else [values, reference]
    centre = float(values.mean()) - (0.0 if reference is None else float(reference.mean()))
    df = sum(len(sample) - 1 for sample in samples)
    if df < 1:
        return Interval(centre, math.nan, math.nan)
    squares = sum(float(((sample - sample.mean()) ** 2).sum()) for sample in samples)
    variance = squares / df * sum(1 / len(sample) for sample in samples)
    half = float(t_quantile(df)) * math.sqrt(variance)
    return Interval(centre, centre - half, centre + half)


def ratio_interval(values: Floats, reference: Floats) -> Interval:
    """Return :func:`mean_interval` of positive values' logarithms, as ratios."""
    logs = mean_interval(np.log(values), np.log(reference))
    return Interval(*(math.exp(value) for value in logs))
