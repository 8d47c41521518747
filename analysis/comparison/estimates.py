"""Ratios of two means with their errors, and the tests on many of them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

import numpy as np
import numpy.typing as npt

from analysis.statistics.common_change import Estimates, own_changes
from analysis.statistics.intervals import CONFIDENCE

Floats = npt.NDArray[np.float64]

SIGNIFICANCE: Final = 1 - CONFIDENCE


@dataclass(frozen=True, kw_only=True)
class Sample:
    """The runs of several configs: logarithms of a figure, an entry a config.

    Attributes:
        means: Means over the runs.
        variances: Variances between the runs; NaN for a single one.
        num_runs: Numbers of runs.
    """

    means: Floats
    variances: Floats
    num_runs: Floats


def log_ratios(first: Sample, second: Sample) -> Estimates:
    """Return the second means over the first; the error is unknown where a side has one run."""
    parts = [side.variances / side.num_runs for side in (first, second)]
    variances = parts[0] + parts[1]
    # Welch and Satterthwaite: the degrees of freedom of a sum of two variances.
    with np.errstate(divide="ignore", invalid="ignore"):
        terms = [part**2 / (s.num_runs - 1) for part, s in zip(parts, (first, second), strict=True)]
        df = variances**2 / (terms[0] + terms[1])
    return Estimates(logs=second.means - first.means, variances=variances, df=df)


def own_tests(estimates: Estimates) -> tuple[Estimates, Floats]:
    """Return each config's change beyond the others', and its p value without correction."""
    own = own_changes(estimates)
    with np.errstate(invalid="ignore"):
        return own, two_sided(own.logs / np.sqrt(own.variances), own.df)


def two_sided(t: Floats, df: Floats) -> Floats:
    """Return how likely values of Student's t as far from 0 are, either way."""
    from scipy.special import stdtr

    return np.asarray(2 * stdtr(df, -np.abs(t)), dtype=np.float64)


def holm(p_values: Floats) -> Floats:
    """Correct by Holm's step-down method; NaN, where there was no test, does not count."""
    adjusted = np.full(len(p_values), np.nan)
    tested = np.flatnonzero(~np.isnan(p_values))
    ascending = tested[np.argsort(p_values[tested], kind="stable")]
    factors = np.arange(len(ascending), 0, -1)
    adjusted[ascending] = np.minimum(np.maximum.accumulate(factors * p_values[ascending]), 1.0)
    return adjusted
