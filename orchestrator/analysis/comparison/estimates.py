"""Changes from one run to another with their errors.

Two runs are two sessions of one machine. What the host did on the day (its clock, its other
guests, its heat) meets every config of a session alike, and is no smaller for being measured
often: repeats of one session are not draws over days. The model: the logarithm of a config's
ratio is the sessions' common change, plus the config's own, plus the error of its runs. The
common change is the median over the configs, so that one config that changed does not read as
the others' change; a config's own is its ratio over the median of the others'. What was changed
between the runs and does the same to every config is in the common change as well: two runs
cannot tell the two apart.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Final

import numpy as np
import numpy.typing as npt
import pandas as pd

from orchestrator.analysis.statistics.intervals import CONFIDENCE, Floats, t_quantile
from orchestrator.analysis.statistics.pooling import stage_pool
from orchestrator.trial import Stage

Mask = npt.NDArray[np.bool_]
Stages = npt.NDArray[np.object_]

SIGNIFICANCE: Final = 1 - CONFIDENCE

_OF_A_MEDIAN: Final = math.pi / 2
"""Variance of a median over that of the mean: the limit for many normal values. Of few it is
less, and of one or two the median is the mean."""


@dataclass(frozen=True, kw_only=True)
class Estimates:
    """Logarithms of ratios, or differences, with their errors, one a config.

    Attributes:
        logs: Estimates.
        variances: Of their errors; NaN where it is not known.
        df: Degrees of freedom of the variances.
        is_pooled: True for those whose variance is of the one pool of them all; None: for none.
    """

    logs: Floats
    variances: Floats
    df: Floats
    is_pooled: Mask | None = None

    def __len__(self) -> int:
        return len(self.logs)

    def __getitem__(self, chosen: Mask) -> Estimates:
        return Estimates(
            logs=self.logs[chosen],
            variances=self.variances[chosen],
            df=self.df[chosen],
            is_pooled=None if self.is_pooled is None else self.is_pooled[chosen],
        )

    @property
    def known(self) -> Estimates:
        """Those whose error is known."""
        return self[~np.isnan(self.variances)]

    def interval(self) -> tuple[Floats, Floats]:
        """Ends of the 95 % intervals, as ratios."""
        half = t_quantile(self.df) * np.sqrt(self.variances)
        return np.exp(self.logs - half), np.exp(self.logs + half)


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


def changes_of(first: Sample, second: Sample, stages: Stages) -> Estimates:
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


def _cells(first: Sample, second: Sample, stages: Stages) -> pd.DataFrame:
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


def median_of(estimates: Estimates) -> Estimates:
    """Return the median of several estimates, with its error where all of theirs are known."""
    shares = np.full(len(estimates), _share(len(estimates)))
    return _weighted(float(np.median(estimates.logs)), shares, estimates)


def _share(count: int) -> float:
    """Return the share of each one's variance in that of the median of ``count`` estimates."""
    return (1.0 if count < 3 else _OF_A_MEDIAN) / count**2


def median_interval(values: Floats) -> tuple[float, float]:
    """Return the 95 % interval of a median by the order of the values; NaN below six.

    It asks nothing of the values but that they are independent. Source: Conover, "Practical
    Nonparametric Statistics", section 3.2.
    """
    from scipy.special import bdtr

    count = len(values)
    # Values of which half and half lie on either side of the median, like tosses of a coin.
    below = [k for k in range(count // 2) if bdtr(k, count, 0.5) <= SIGNIFICANCE / 2]
    if not below:
        return math.nan, math.nan
    ordered = np.sort(values)
    return float(ordered[below[-1]]), float(ordered[-1 - below[-1]])


def own_changes(estimates: Estimates, stages: Stages) -> Estimates:
    """Return each config's ratio over the median of the others of its stage.

    Others whose error is not known are left out. NaN where there is no other, or the config's
    own error is not known.
    """
    is_known = ~np.isnan(estimates.variances)
    cells = np.full((3, len(estimates)), np.nan)
    for index in np.flatnonzero(is_known):
        others = is_known & (stages == stages[index])
        others[index] = False
        if not others.any():
            continue
        shares = np.where(others, _share(int(others.sum())), 0.0)
        shares[index] = 1.0
        log = float(estimates.logs[index] - np.median(estimates.logs[others]))
        own = _weighted(log, shares[shares > 0], estimates[shares > 0])
        cells[:, index] = own.logs[0], own.variances[0], own.df[0]
    return Estimates(logs=cells[0], variances=cells[1], df=cells[2])


def _weighted(log: float, shares: Floats, estimates: Estimates) -> Estimates:
    """Return an estimate whose variance is a sum of shares of others' variances.

    Degrees of freedom by Welch and Satterthwaite: variances of one pool are one of its terms.
    """
    parts, pooled = shares * estimates.variances, estimates.is_pooled
    if pooled is None:
        pooled = np.zeros(len(parts), dtype=np.bool_)
    variance = parts.sum()
    terms = parts[~pooled] ** 2 / estimates.df[~pooled]
    of_pool = parts[pooled].sum() ** 2 / estimates.df[pooled].min() if pooled.any() else 0.0
    df = variance**2 / (terms.sum() + of_pool) if variance else estimates.df.min()
    return Estimates(logs=np.array([log]), variances=np.array([variance]), df=np.array([df]))
