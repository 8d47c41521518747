"""Each config against the best: ``best``, ``tied``, ``worse`` or ``unresolved``.

Multiple comparisons with the best, after Edwards and Hsu ("Multiple comparisons with the
best treatment", Journal of the American Statistical Association 78, 1983). It is not known which
config is the best, so each config is compared with every config that may be the best. With 95 %
confidence all differences lie in their intervals together. The studentized maximum modulus
(:func:`~orchestrator.analysis.statistics.intervals.comparison_quantile`) is slightly conservative.
If two configs are equal, one is called worse in at most 5 % of cases; if many are exactly as good,
one of them is called worse more often.

Means of log speeds are compared, with the spread between fresh runs pooled over configs
(:mod:`orchestrator.analysis.statistics.pooling`). If nothing was run twice, no config can be
distinguished from the best.
"""

import math
from enum import StrEnum
from typing import Any, Final

import numpy as np
import numpy.typing as npt
import pandas as pd

from orchestrator.analysis.comparable import GROUP
from orchestrator.analysis.rule import Rule
from orchestrator.analysis.statistics.intervals import Floats, comparison_quantile

PRESUMED_CV: Final = 0.03
"""Between-run spread for planning if nothing was run twice. No verdict uses it."""

MAX_CELLS: Final = 1_000_000
"""Number of differences in memory at the same time; more are computed in parts."""
_LARGE_DF: Final = 1000.0
_Z_80: Final = 0.84

Places = npt.NDArray[np.intp]


class Verdict(StrEnum):
    """Verdict on a config against the best.

    ::

        ratio to the best    1 - margin          1
                          ────────┼──────────────┼────
        tied                      ├────┤
        worse               ├────────────┤             and not tied
        unresolved          ├────────────────────┤
    """

    BEST = "best"
    """It has the best figure. If others are unresolved, one of them may be as good."""
    TIED = "tied"
    """Shown to be as good as the best within the margin."""
    WORSE = "worse"
    """Shown to be slower than the best."""
    UNRESOLVED = "unresolved"
    """Neither is shown: its runs are too few or too noisy."""


def against_best(configs: pd.DataFrame, rule: Rule) -> pd.DataFrame:
    """Compare each group's configs that meet the rule's conditions with the best of them.

    Args:
        configs: From :func:`~orchestrator.analysis.statistics.by_config.by_config`, of one stage.
        rule: The figure to compare, the conditions, and the margin of a tie.

    Returns:
        The configs with ``verdict``, ``ratio_to_best`` and the ends ``ratio_low`` and
        ``ratio_high`` of its interval. Cells are empty if the conditions are not met or there is no
        figure; ratios have no ends if nothing was run twice.
    """
    answers = pd.DataFrame(
        {"verdict": "", "ratio_to_best": np.nan, "ratio_low": np.nan, "ratio_high": np.nan},
        index=configs.index,
    )
    for _, group in configs.groupby(GROUP, sort=False):
        acceptable = group[rule.acceptable(group)]
        if not acceptable.empty:
            answers.loc[acceptable.index] = _compared(acceptable, rule)
    return configs.assign(**{name: answers[name] for name in answers.columns})


def speed_numbers(configs: pd.DataFrame, speed_column: str) -> "pd.Series[int]":
    """Return a number for each config, the same if the speeds come from the same runs.

    Composed configs of one setting are equally fast; in other tables each config has its own runs.
    """
    return configs.groupby(["timed_ids", speed_column], sort=False, dropna=False).ngroup()


def _compared(configs: pd.DataFrame, rule: Rule) -> pd.DataFrame:
    """Return the answers for configs that may be ranked together, each speed compared once."""
    numbers = speed_numbers(configs, rule.speed_column)
    is_first = ~numbers.duplicated()
    of_speeds = _compared_speeds(configs[is_first], rule).set_axis(numbers[is_first])
    answers = of_speeds.loc[numbers].set_axis(configs.index)
    is_best = answers["verdict"] == Verdict.BEST
    return answers.assign(verdict=answers["verdict"].mask(is_best & ~is_first, Verdict.TIED))


def _compared_speeds(configs: pd.DataFrame, rule: Rule) -> pd.DataFrame:
    """Return the answers for configs with their own speed each."""
    figures = configs[rule.speed_column].to_numpy(dtype=np.float64)
    if (figures > 0).all():
        logs = rule.speed.sign * np.log(figures)
    else:  # their shares of the largest
        logs = rule.speed.sign * figures / (np.abs(figures).max() or 1.0)
    best = int(logs.argmax())
    # A config with its own variance has fewer degrees of freedom than the pool, and the quantile of
    # the pool is used for all: its variance is scaled up by the ratio of the quantiles.
    quantiles = _quantiles(configs["df"], len(configs))
    variances = (configs["variance"] * (quantiles / quantiles.min()) ** 2).to_numpy(np.float64)
    low, high, is_worse = _intervals(logs, variances, float(quantiles.min()))
    is_tied = low >= math.log(1 - rule.tie_margin)
    verdicts = np.where(is_tied, Verdict.TIED, np.where(is_worse, Verdict.WORSE, "unresolved"))
    verdicts[best] = Verdict.BEST
    low[best] = high[best] = 0.0
    ratios = {"ratio_to_best": logs - logs[best], "ratio_low": low, "ratio_high": high}
    return pd.DataFrame(
        {"verdict": verdicts, **{name: np.exp(value) for name, value in ratios.items()}},
        index=configs.index,
    )


def _quantiles(df: "pd.Series[Any]", num_configs: int) -> "pd.Series[float]":
    """Return the quantile of the comparison for each number of degrees of freedom."""
    others = max(num_configs - 1, 1)
    known = df.dropna().unique()
    quantiles = {each: comparison_quantile(others, min(float(each), _LARGE_DF)) for each in known}
    return df.map(quantiles).astype("float64")


def _intervals(
    logs: Floats, variances: Floats, quantile: float
) -> tuple[Floats, Floats, npt.NDArray[np.bool_]]:
    """Return the interval of each log speed over the best's, and which are shown to be below it.

    A config may be the best if no other is shown to be better. With 95 % confidence the true best
    is among these configs, and every difference from it lies within its interval. So the lower
    end is the least over the configs that may be the best; the upper end is the largest, and at
    most 0.
    """
    known = np.flatnonzero(~np.isnan(variances))
    is_worse = _least(logs, variances, quantile, known) < 0
    if len(known) < len(logs) and len(logs) > 1:
        unknown = np.full(len(logs), np.nan)
        return unknown, unknown.copy(), is_worse
    contenders = np.flatnonzero(~is_worse)
    low = _least(logs, variances, -quantile, contenders)
    high = -_least(-logs, variances, -quantile, contenders)
    return low, np.minimum(high, 0.0), is_worse


def _least(logs: Floats, variances: Floats, quantile: float, columns: Places) -> Floats:
    """Return each config's least ``difference + quantile * error`` from the others of ``columns``.

    Infinite if there is no other. Differences are between logs. A column gives no least end if two
    others have a log and an error at least as good: these few are found first.
    """
    errors, near = np.sign(quantile) * variances, []
    for _ in range(2):
        columns = columns[np.lexsort((errors[columns], -logs[columns]))]
        best = np.minimum.accumulate(np.concatenate([[np.inf], errors[columns]]))[:-1]
        near.append(columns[~(errors[columns] >= best)])
        columns = columns[errors[columns] >= best]
    columns, least = np.concatenate(near), np.full(len(logs), np.inf)
    for rows in np.array_split(np.arange(len(logs)), 1 + len(logs) * len(columns) // MAX_CELLS):
        half = quantile * np.sqrt(variances[rows, None] + variances[columns])
        ends = logs[rows, None] - logs[columns] + half
        ends[rows[:, None] == columns] = np.inf
        least[rows] = ends.min(axis=1, initial=np.inf)
    return least


def presumably_apart(ratios: "pd.Series[Any]") -> "pd.Series[bool]":
    """Return True for ratios to the best that the presumed noise does not explain."""
    quantile = comparison_quantile(max(len(ratios) - 1, 1), _LARGE_DF)
    reach = (quantile + _Z_80) * math.sqrt(2 * math.log1p(PRESUMED_CV**2))
    return ratios < math.exp(-reach)


def resolvable(ranked: pd.DataFrame, rule: Rule, *, max_runs: int) -> "pd.Series[bool]":
    """Return True for the configs whose verdict ``max_runs`` of it and of the best would settle.

    False for configs without a known spread.

    Args:
        ranked: The configs of one group that have a verdict, from :func:`against_best`.
        rule: As for :func:`against_best`.
        max_runs: The most runs that a verdict is worth.
    """
    best = ranked[ranked["verdict"] == Verdict.BEST].iloc[0]
    behind = -np.log(ranked["ratio_to_best"])
    # The interval must come to lie entirely below 1, or entirely above the margin.
    distance = np.maximum(behind, -math.log(1 - rule.tie_margin) - behind)
    variance = ranked["variance"] * ranked["num_runs"] + best["variance"] * best["num_runs"]
    added = (max_runs - ranked["num_runs"]).clip(lower=0) + max(max_runs - best["num_runs"], 0)
    quantiles = _quantiles(ranked["df"] + added, len(ranked))
    settled: pd.Series[bool] = (quantiles + _Z_80) * (variance / max_runs) ** 0.5 <= distance
    return settled
