"""Changes from one run to another, each against a tolerance, and the verdict on all of them.

The speed and the accuracy of each config are tested, and of all configs of a stage together. A
change is shown where its interval lies beyond the tolerance. These are many tests: Holm's
correction over all of them together keeps the chances of any false regression and of any false
improvement at 2.5 % each.

Two runs are two sessions of one machine. What the host did on the day (its clock, its other
guests, its heat) meets every config of a session alike, and is no smaller for being measured
often: repeats of one session are not draws over days. The model: the logarithm of a config's
ratio is the sessions' common change, plus the config's own, plus the error of its runs. The
common change is the median over the configs, so that one config that changed does not read as
the others' change; a config's own is its ratio over the median of the others'. A change between the
runs that affects every config alike is in the common change as well: two runs cannot separate the
two.
"""

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from enum import StrEnum
from functools import cached_property
from typing import Final

import numpy as np
import pandas as pd

from orchestrator.analysis.statistics.intervals import CONFIDENCE, Floats, df_of_sum, t_quantile
from orchestrator.analysis.statistics.matched_pairs import holm
from orchestrator.analysis.statistics.pooling import stage_pool
from orchestrator.trial import Stage

TOGETHER: Final = -1
"""In the column ``row``: all configs of the stage together."""

SIGNIFICANCE: Final = 1 - CONFIDENCE
_OF_A_MEDIAN: Final = math.pi / 2
"""Variance of a median over that of the mean: the limit for many normal values. Of few it is
less, and of one or two the median is the mean."""
_ESTIMATE: Final = ["log", "variance", "df"]
_FIRST: Final = ("stage", "metric", "is_ratio", "num_configs", "row")


class Verdict(StrEnum):
    """Result of the comparison of two runs, in the words that are shown."""

    REGRESSION = "regression"
    IMPROVEMENT = "improvement"
    WITHIN = "no change beyond the tolerance"
    NOT_DECIDED = "not decided"


def changes_of(pairs: pd.DataFrame, names: tuple[str, str, str], *, sign: float) -> pd.DataFrame:
    """Return the change of a figure in each row, with its error by the spread between runs.

    The spread is pooled over the configs of a stage and both runs, see
    :mod:`orchestrator.analysis.statistics.pooling`. If the runs of a config differ far more than
    the others', it keeps its own, by Welch's formula. The error is unknown if nothing of a stage
    was repeated.

    Args:
        pairs: Rows of both runs, with ``stage``.
        names: Columns of the mean, the variance between runs and the number of runs, each with the
            suffixes ``_first`` and ``_second``. Speeds are given as logarithms.
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
        pool = stage_pool(cells, Stage(stage))
        if pool is None:
            continue
        is_apart = rows.index.isin(pool.apart.get_level_values("row"))
        pooled = (rows["stage"] == stage) & ~is_apart
        of_pool = pool.variance * (1 / num + 1 / num_2)
        rows.loc[pooled, "variance"] = of_pool
        rows.loc[pooled, "df"] = float(pool.df)
        rows.loc[pooled, "pooled"] = True
    return rows.assign(variance=rows["variance"].replace(np.inf, np.nan))


def _share(count: int) -> float:
    """Return the share of each variance in the variance of the median of ``count`` changes."""
    return (1.0 if count < 3 else _OF_A_MEDIAN) / count**2


def own_changes(rows: pd.DataFrame) -> pd.DataFrame:
    """Return each config's change over the median of the others of its stage; NaN without others.

    Changes with an unknown error are left out, unless all are.
    """
    own = rows.assign(**dict.fromkeys(_ESTIMATE, np.nan))
    for _, of_stage in rows.groupby("stage", sort=False):
        known = _with_errors(of_stage)
        logs = known["log"].to_numpy()
        for place, row in enumerate(known.index if len(known) > 1 else ()):
            shares = np.full(len(known), _share(len(known) - 1))
            shares[place] = 1.0
            log = float(logs[place] - np.median(np.delete(logs, place)))
            own.loc[row, _ESTIMATE] = _weighted(log, shares, known)
    return own


def _with_errors(rows: pd.DataFrame) -> pd.DataFrame:
    """Return the changes with a known error, if there are any; else all."""
    known = rows[rows["variance"].notna()]
    return known if len(known) else rows


def _weighted(log: float, shares: Floats, rows: pd.DataFrame) -> tuple[float, float, float]:
    """Return an estimate with a variance that is a sum of shares of others'."""
    parts, pooled = shares * rows["variance"].to_numpy(), rows["pooled"].to_numpy(dtype=np.bool_)
    return log, float(parts.sum()), df_of_sum(parts, rows["df"].to_numpy(), pooled)


@dataclass(frozen=True, kw_only=True)
class Figure:
    """Changes of one figure from one run to the other, better being larger.

    Attributes:
        metric: Its name.
        is_ratio: True for a speed: its changes are logarithms of ratios, and the host's in part.
            False for differences of what was learned, which no host changes.
        rows: Change of each config and stage, as of :func:`changes_of`, NaN where the figure was
            not measured, or under other load alone; the ``limit`` that is tolerated, either way.
    """

    metric: str
    is_ratio: bool
    rows: pd.DataFrame

    @cached_property
    def own(self) -> pd.DataFrame:
        """Each config's change beyond what the others of its stage did, tested against 0."""
        return against(own_changes(self.rows), 0.0)


def against(rows: pd.DataFrame, limit: "pd.Series[float] | float") -> pd.DataFrame:
    """Test changes against a limit.

    Returns:
        A row a change: ``change``, a logarithm of a ratio or a difference; the ends ``low`` and
        ``high`` of its 95 % interval; ``p_worse``, the probability of so bad a change if there is
        none beyond the ``limit``, and ``p_better`` of so good a change; ``num_configs``, 1. NaN if
        the error is not known.
    """
    from scipy.special import stdtr

    logs, df, error = rows["log"], rows["df"], rows["variance"] ** 0.5
    half = t_quantile(df.to_numpy(dtype=np.float64)) * error
    ends = {"low": logs - half, "high": logs + half}
    p_values = {
        "p_worse": stdtr(df, (logs + limit) / error),
        "p_better": stdtr(df, (limit - logs) / error),
    }
    return pd.DataFrame({"change": logs, **ends, **p_values, "limit": limit, "num_configs": 1})


def together(rows: pd.DataFrame) -> pd.DataFrame:
    """Return the median of several changes, tested as by :func:`against`.

    Only changes with a known error count, if there are any.
    """
    used, limit = _with_errors(rows), float(rows["limit"].median())
    shares = np.full(len(used), _share(len(used)))
    median = _weighted(float(np.median(used["log"])), shares, used)
    tested = against(pd.DataFrame([median], columns=_ESTIMATE), limit)
    return tested.assign(num_configs=len(used))


def judged(figures: Sequence[Figure]) -> pd.DataFrame:
    """Return every change with its verdict.

    Args:
        figures: What was compared.

    Returns:
        One row a figure, stage and config, and one for its configs together: ``stage, metric,
        row`` (:data:`TOGETHER` for the latter), ``num_configs``, ``is_ratio``; the ``change`` with
        its interval ``low, high`` and the tolerated ``limit_low, limit_high``: ratios second over
        first, or differences, better being larger; ``p_worse, p_better`` after Holm's correction;
        the ``verdict``.
    """
    cells = pd.concat([part for figure in figures for part in _parts(figure)], ignore_index=True)
    p_values = {name: holm(cells[name].to_numpy()) for name in ("p_worse", "p_better")}
    is_within = (cells["low"] >= -cells["limit"]) & (cells["high"] <= cells["limit"])
    shown = [p_value < SIGNIFICANCE / 2 for p_value in p_values.values()]
    names = [str(v) for v in (Verdict.REGRESSION, Verdict.IMPROVEMENT, Verdict.WITHIN)]
    verdicts = np.select([*shown, is_within], names, default=str(Verdict.NOT_DECIDED))
    cells = cells.assign(
        **p_values,
        verdict=verdicts.astype(np.object_),
        limit_low=-cells["limit"],
        limit_high=cells["limit"],
    )
    for name in ("change", "low", "high", "limit_low", "limit_high"):
        cells[name] = np.exp(cells[name]).where(cells["is_ratio"], cells[name])
    return cells[[*_FIRST, *(c for c in cells.columns if c not in (*_FIRST, "limit"))]]


def _parts(figure: Figure) -> Iterator[pd.DataFrame]:
    """Yield what all configs of a stage did, then each config.

    A config that is the only one of its stage is all of them.
    """
    tested = against(figure.rows, figure.rows["limit"])
    if figure.is_ratio:  # a config is slower only beyond what the host did to all of them
        p_values = {p: np.maximum(tested[p], figure.own[p]) for p in ("p_worse", "p_better")}
        tested = tested.assign(**p_values)
    tested = tested.assign(row=np.arange(len(tested)))
    for stage, rows in figure.rows.groupby("stage", sort=False):
        known = rows[rows["log"].notna()]
        if known.empty and not figure.is_ratio:
            continue  # a stage without a clean speed keeps its row: its change is not decided
        each = tested.loc[(rows if figure.is_ratio else known).index]
        of_all = together(rows if known.empty else known)
        for part in (of_all.assign(row=TOGETHER), *([each] if len(each) > 1 else [])):
            yield part.assign(stage=stage, metric=figure.metric, is_ratio=figure.is_ratio)


def verdict_of(changes: pd.DataFrame) -> Verdict:
    """Return the verdict on all changes together: a regression before anything else."""
    verdicts = set(changes["verdict"])
    for verdict in (Verdict.REGRESSION, Verdict.IMPROVEMENT, Verdict.NOT_DECIDED):
        if verdict in verdicts:
            return verdict
    return Verdict.WITHIN
