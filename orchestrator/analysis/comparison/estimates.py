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
from typing import Final

import numpy as np
import pandas as pd

from orchestrator.analysis.statistics.intervals import CONFIDENCE, Floats, df_of_sum
from orchestrator.analysis.statistics.pooling import stage_pool
from orchestrator.trial import Stage

SIGNIFICANCE: Final = 1 - CONFIDENCE

_OF_A_MEDIAN: Final = math.pi / 2
"""Variance of a median over that of the mean: the limit for many normal values. Of few it is
less, and of one or two the median is the mean."""
_ESTIMATE: Final = ["log", "variance", "df"]


def changes_of(pairs: pd.DataFrame, names: tuple[str, str, str], *, sign: float) -> pd.DataFrame:
    """Return the change of a figure in each row, with its error by the spread between runs.

    The spread is pooled over the configs of a stage and both runs, see
    :mod:`orchestrator.analysis.statistics.pooling`. A config whose runs differ far more than the
    others' keeps its own, by Welch's formula. The error is unknown where nothing of a stage was
    repeated.

    Args:
        pairs: Rows of both runs, with ``stage``.
        names: Columns of the mean, the variance between runs and the number of runs, each with the
            suffixes ``_first`` and ``_second``. The mean of a speed is that of its logarithm.
        sign: -1 where less is better.

    Returns:
        ``stage``; the change ``log``, a logarithm of a ratio or a difference, positive for the
        better; the ``variance`` of its error with its degrees of freedom ``df``; ``pooled``, True
        where that is of the one pool of them all.
    """
    (mean, variance, num), (mean_2, variance_2, num_2) = (
        [pairs[f"{name}_{side}"].astype("float64") for name in names]
        for side in ("first", "second")
    )
    num, num_2 = num.fillna(0.0), num_2.fillna(0.0)
    parts = variance / num, variance_2 / num_2
    welch = sum(parts) ** 2 / (parts[0] ** 2 / (num - 1) + parts[1] ** 2 / (num_2 - 1))
    rows = pd.DataFrame(
        {
            "stage": pairs["stage"],
            "log": (sign * (mean_2 - mean)).where((num > 0) & (num_2 > 0)),
            "variance": parts[0] + parts[1],
            "df": welch,
            "pooled": False,
        }
    )
    df, df_2 = (num - 1).clip(lower=0), (num_2 - 1).clip(lower=0)
    within = (df * variance.fillna(0.0) + df_2 * variance_2.fillna(0.0)) / (df + df_2)
    cells = pd.DataFrame({"num": df + df_2 + 1, "variance": within, "within": np.nan})
    cells.index = pd.MultiIndex.from_arrays([rows.index, rows["stage"]], names=["row", "stage"])
    for stage in rows["stage"].unique():
        pool, apart = stage_pool(cells, Stage(stage))
        if pool is None:
            continue
        odd = apart[apart.to_numpy(dtype=np.bool_)].index.get_level_values("row")
        pooled = (rows["stage"] == stage) & ~rows.index.isin(odd)
        of_pool = pool.variance * (1 / num + 1 / num_2)
        rows = rows.assign(
            variance=rows["variance"].mask(pooled, of_pool),
            df=rows["df"].mask(pooled, float(pool.df)),
            pooled=rows["pooled"] | pooled,
        )
    return rows.assign(variance=rows["variance"].replace(np.inf, np.nan))


def median_of(rows: pd.DataFrame) -> pd.DataFrame:
    """Return the median of several changes, a row with its error where all of theirs are known."""
    shares = np.full(len(rows), _share(len(rows)))
    cells = _weighted(float(np.median(rows["log"])), shares, rows)
    return pd.DataFrame([cells], columns=_ESTIMATE)


def _share(count: int) -> float:
    """Return the share of each one's variance in that of the median of ``count`` changes."""
    return (1.0 if count < 3 else _OF_A_MEDIAN) / count**2


def own_changes(rows: pd.DataFrame) -> pd.DataFrame:
    """Return each config's change over the median of the others of its stage.

    Others whose error is not known are left out. NaN where there is no other, or the config's
    own error is not known.
    """
    own = rows.assign(**dict.fromkeys(_ESTIMATE, np.nan))
    for _, known in rows[rows["variance"].notna()].groupby("stage", sort=False):
        logs = known["log"].to_numpy()
        for place, row in enumerate(known.index if len(known) > 1 else ()):
            shares = np.full(len(known), _share(len(known) - 1))
            shares[place] = 1.0
            log = float(logs[place] - np.median(np.delete(logs, place)))
            own.loc[row, _ESTIMATE] = _weighted(log, shares, known)
    return own


def _weighted(log: float, shares: Floats, rows: pd.DataFrame) -> tuple[float, float, float]:
    """Return an estimate whose variance is a sum of shares of others' variances."""
    parts, pooled = shares * rows["variance"].to_numpy(), rows["pooled"].to_numpy(dtype=np.bool_)
    return log, float(parts.sum()), df_of_sum(parts, rows["df"].to_numpy(), pooled)
