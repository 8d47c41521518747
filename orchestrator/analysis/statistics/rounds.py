"""Ratios of configs that run in rounds, from rounds that are looked at several times.

The model: the logarithm of a run's speed is the sum of its config's level, its round's and an
error, whose variance is the same for all configs. The variance is estimated from all of them: it is
the residual mean square of the two-way layout (Scheffe, "The Analysis of Variance", 1959, chapter
4). A config whose pairs differ by more than that explains keeps the variance of its own pairs.

The looks share the 5 % that intervals may be wrong in. Student's t changes little from one look to
the next, and finalists share the baseline's runs. So the level of a look is computed from draws of
equals, such that the intervals of all finalists at all looks are right together in 95 % (Pocock,
"Group sequential methods in the design and analysis of clinical trials", Biometrika 64, 1977, who
knows the variance).
"""

import math
from functools import cache
from typing import Final

import numpy as np

from orchestrator.analysis.statistics.intervals import (
    CONFIDENCE,
    Floats,
    Interval,
    t_quantile,
    two_sided_p,
)

EARLY: Final = 0.4
"""Level of a look, as a share of the last one's: most close cases are decided at the last."""

_DRAWS: Final = 50_000
_OUTLYING: Final = 0.05
"""Probability of a variance as large, below which it is not the others'."""


def ratio_in_rounds(logs: Floats, ours: int, theirs: int, level: float) -> Interval:
    """Return a config's speed over another's, with its interval.

    Args:
        logs: Logarithms of speeds: a row a round, a column a config. NaN: no run that counts.
        ours: Column of the config.
        theirs: Column of the other one. At least one round has both.
        level: Share of cases in which the interval may be wrong.
    """
    pairs = (logs[:, ours] - logs[:, theirs])[~np.isnan(logs[:, [ours, theirs]]).any(axis=1)]
    num, centre = len(pairs), float(pairs.mean())
    own, (variance, df) = float(pairs.var(ddof=1)) if num > 1 else math.nan, _residual(logs)
    if num > 1 and df and _tail(own, 2 * variance, num - 1, df) < _OUTLYING:
        variance, df = own / 2, num - 1
    if not df:
        return Interval(math.exp(centre), math.nan, math.nan)
    half = float(t_quantile(df, 1 - level / 2)) * math.sqrt(2 * variance / num)
    return Interval(*(math.exp(centre + sign * half) for sign in (0, -1, 1)))


def _residual(logs: Floats) -> tuple[float, float]:
    """Return the variance of one error and its degrees of freedom; (nan, 0) if there are none."""
    logs = logs[(~np.isnan(logs)).sum(axis=1) > 1]  # the run with the test split is alone
    known = ~np.isnan(logs)
    nums = known.sum(axis=1, keepdims=True)
    within = np.where(known, logs - np.nanmean(logs, axis=1, keepdims=True), 0.0)
    # Normal equations of the configs' levels, the rounds' levels eliminated.
    normal = np.diag(known.sum(axis=0)) - (known / nums).T @ known
    levels = np.linalg.pinv(normal) @ within.sum(axis=0)
    errors = np.where(known, within - levels + known @ levels[:, None] / nums, 0.0)
    df = float((nums - 1).sum() - np.linalg.matrix_rank(normal))
    return (float((errors**2).sum()) / df, df) if df else (math.nan, 0.0)


def _tail(variance: float, reference: float, df: float, of_reference: float) -> float:
    """Return how often a variance exceeds an equal one by as much (F test)."""
    from scipy.special import fdtrc

    return float(fdtrc(df, of_reference, variance / reference if reference else math.inf))


@cache
def level_of_looks(looks: tuple[int, ...], num_finalists: int) -> float:
    """Return the level of the last look; that of the others is :data:`EARLY` of it.

    Args:
        looks: Rounds at each look, ascending. A look with less than two has no interval.
        num_finalists: Configs that are compared with the baseline.
    """
    if looks[:-1] == () and num_finalists == 1:
        return 1 - CONFIDENCE
    rng = np.random.default_rng(0)
    means, squares = np.zeros((_DRAWS, num_finalists + 1)), np.zeros(_DRAWS)
    smallest, before = np.ones(_DRAWS), 0
    for num in looks:
        # Means and residual squares of the rounds since the last look, then of all.
        new = num - before
        change = rng.standard_normal(means.shape) / math.sqrt(new) - means
        apart = change - change.mean(axis=1, keepdims=True)
        squares += before * new / num * (apart**2).sum(axis=1)
        squares += rng.chisquare(num_finalists * (new - 1), _DRAWS) if new > 1 else 0.0
        means += change * new / num
        before = num
        if num > 1:
            df = num_finalists * (num - 1)
            t = np.abs(means[:, 1:] - means[:, :1]).max(axis=1) / np.sqrt(2 * squares / df / num)
            p = two_sided_p(t, df)
            smallest = np.minimum(smallest, p if num == looks[-1] else p / EARLY)
    return float(np.quantile(smallest, 1 - CONFIDENCE))
