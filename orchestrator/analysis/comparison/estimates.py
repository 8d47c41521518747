"""Changes from one run to another with their errors, and the tests on many of them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

import numpy as np
import numpy.typing as npt
import pandas as pd

from orchestrator.analysis.statistics.common_change import Estimates
from orchestrator.analysis.statistics.intervals import CONFIDENCE
from orchestrator.analysis.statistics.pooling import stage_pool
from orchestrator.trial import Stage

Floats = npt.NDArray[np.float64]

SIGNIFICANCE: Final = 1 - CONFIDENCE


@dataclass(frozen=True, kw_only=True)
class Sample:
    """The runs of several configs: a figure or its logarithm, an entry a config and stage.

    Attributes:
        means: Means over the runs.
        variances: Variances between the runs; NaN for a single one.
        num_runs: Numbers of runs; 0 where none has the figure.
    """

    means: Floats
    variances: Floats
    num_runs: Floats


def changes_of(first: Sample, second: Sample, stages: npt.NDArray[np.object_]) -> Estimates:
    """Return the second means less the first, with errors by the spread between runs.

    The spread is pooled over the configs of a stage and both runs, see
    :mod:`orchestrator.analysis.statistics.pooling`. A config whose runs differ far more than the
    others' keeps its own, by Welch's formula. The error is unknown where nothing of a stage was
    repeated.
    """
    cells = _cells(first, second, stages)
    variances, df = _welch(first, second)
    is_pooled = np.zeros(len(stages), dtype=np.bool_)
    with np.errstate(divide="ignore"):
        share = 1 / first.num_runs + 1 / second.num_runs
    for stage in np.unique(stages):
        pool, apart = stage_pool(cells, Stage(stage))
        if pool is None:
            continue
        odd = apart[apart.to_numpy(dtype=np.bool_)].index.get_level_values("row")
        uses_pool = (stages == stage) & ~np.isin(np.arange(len(stages)), odd)
        variances = np.where(uses_pool, pool.variance * share, variances)
        df = np.where(uses_pool, float(pool.df), df)
        is_pooled |= uses_pool
    return Estimates(
        logs=second.means - first.means,
        variances=np.where(np.isfinite(variances), variances, np.nan),
        df=df,
        is_pooled=is_pooled,
    )


def _cells(first: Sample, second: Sample, stages: npt.NDArray[np.object_]) -> pd.DataFrame:
    """Return the spread of each row's runs, of both sides together, as cells to be pooled."""
    df = [np.maximum(side.num_runs - 1, 0) for side in (first, second)]
    squares = [n * np.nan_to_num(s.variances) for n, s in zip(df, (first, second), strict=True)]
    total = df[0] + df[1]
    with np.errstate(invalid="ignore"):
        variance = (squares[0] + squares[1]) / total
    index = pd.MultiIndex.from_arrays([np.arange(len(stages)), stages], names=["row", "stage"])
    return pd.DataFrame({"num": total + 1, "variance": variance, "within": np.nan}, index=index)


def _welch(first: Sample, second: Sample) -> tuple[Floats, Floats]:
    """Return the variances of the differences of two means, and their degrees of freedom.

    Of a sum of two variances, by Welch and Satterthwaite; NaN where a side has one run.
    """
    with np.errstate(divide="ignore", invalid="ignore"):
        parts = [side.variances / side.num_runs for side in (first, second)]
        variances = parts[0] + parts[1]
        terms = [part**2 / (s.num_runs - 1) for part, s in zip(parts, (first, second), strict=True)]
        return variances, variances**2 / (terms[0] + terms[1])


def p_values_of(changes: Estimates) -> Floats:
    """Return how likely changes as far from 0 are, either way; not corrected."""
    with np.errstate(divide="ignore", invalid="ignore"):
        return two_sided(changes.logs / np.sqrt(changes.variances), changes.df)


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
