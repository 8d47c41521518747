"""The change that all configs share from one run to another, apart from each config's own.

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
from dataclasses import dataclass, field
from typing import Final

import numpy as np
import numpy.typing as npt

from orchestrator.analysis.statistics.intervals import CONFIDENCE, t_quantile

Floats = npt.NDArray[np.float64]
Mask = npt.NDArray[np.bool_]

_OF_A_MEDIAN: Final = math.pi / 2
"""Variance of a median over that of the mean: the limit for many normal values. Of few it is
less, and of one or two the median is the mean."""


@dataclass(frozen=True, kw_only=True)
class CommonChange:
    """Difference of two runs of a stage in all configs together.

    Attributes:
        stage: Whose runs.
        ratio: Median over configs of how many times as fast the second run is.
        low: Lower end of its 95 % interval, of the error within the two sessions; NaN
            where it is not known.
        high: Upper end.
        num_configs: Configs that it rests on.
        num_pairs: Pairs of runs that the interval is over: with several it holds what the host
            is on other days, too.
    """

    stage: str
    ratio: float
    low: float
    high: float
    num_configs: int
    num_pairs: int = 1


@dataclass(frozen=True, kw_only=True)
class Estimates:
    """Logarithms of ratios with their errors, one a config.

    Attributes:
        logs: Estimates.
        variances: Of their errors; NaN where it is not known.
        df: Degrees of freedom of the variances.
        is_pooled: True for those whose variance is of the one pool of them all; none by default.
    """

    logs: Floats
    variances: Floats
    df: Floats
    is_pooled: Mask = field(default_factory=lambda: np.zeros(0, dtype=np.bool_))

    def __post_init__(self) -> None:
        if len(self.is_pooled) != len(self.logs):
            object.__setattr__(self, "is_pooled", np.zeros(len(self.logs), dtype=np.bool_))

    def __len__(self) -> int:
        return len(self.logs)

    def __getitem__(self, chosen: Mask) -> Estimates:
        return Estimates(
            logs=self.logs[chosen],
            variances=self.variances[chosen],
            df=self.df[chosen],
            is_pooled=self.is_pooled[chosen],
        )

    @property
    def known(self) -> Estimates:
        """Those whose error is known."""
        return self[~np.isnan(self.variances)]

    def interval(self) -> tuple[Floats, Floats]:
        """Ends of the 95 % intervals, as ratios."""
        half = t_quantile(self.df) * np.sqrt(self.variances)
        return np.exp(self.logs - half), np.exp(self.logs + half)


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
    below = [k for k in range(count // 2) if bdtr(k, count, 0.5) <= (1 - CONFIDENCE) / 2]
    if not below:
        return math.nan, math.nan
    ordered = np.sort(values)
    return float(ordered[below[-1]]), float(ordered[-1 - below[-1]])


def own_changes(estimates: Estimates) -> Estimates:
    """Return each config's ratio over the median of the others'.

    Others whose error is not known are left out. NaN where there is no other, or the config's
    own error is not known.
    """
    is_known = ~np.isnan(estimates.variances)
    own = [_own(estimates, index, is_known) for index in range(len(estimates))]
    parts = np.array(own, dtype=np.float64).reshape(-1, 3)
    return Estimates(logs=parts[:, 0], variances=parts[:, 1], df=parts[:, 2])


def _own(estimates: Estimates, index: int, is_known: Mask) -> tuple[float, float, float]:
    others = is_known & (np.arange(len(estimates)) != index)
    if not is_known[index] or not others.any():
        return math.nan, math.nan, math.nan
    shares = np.where(others, _share(int(others.sum())), 0.0)
    shares[index] = 1.0
    log = float(estimates.logs[index] - np.median(estimates.logs[others]))
    counted = others.copy()
    counted[index] = True
    own = _weighted(log, shares[counted], estimates[counted])
    return float(own.logs[0]), float(own.variances[0]), float(own.df[0])


def _weighted(log: float, shares: Floats, estimates: Estimates) -> Estimates:
    """Return an estimate whose variance is a sum of shares of others' variances.

    Degrees of freedom by Welch and Satterthwaite: variances of one pool are one of its terms.
    """
    parts, pooled = shares * estimates.variances, estimates.is_pooled
    variance = parts.sum()
    terms = parts[~pooled] ** 2 / estimates.df[~pooled]
    of_pool = parts[pooled].sum() ** 2 / estimates.df[pooled].min() if pooled.any() else 0.0
    df = variance**2 / (terms.sum() + of_pool) if variance else estimates.df.min()
    return Estimates(logs=np.array([log]), variances=np.array([variance]), df=np.array([df]))
