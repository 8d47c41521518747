"""Configs that differ in chosen knobs alone, and the mean of their differences.

A mean is over pairs, no two of which share a config: within one row of a table
they are independent. Its error has two sources. The repeats give the spread between runs of one
config, and so the noise of a difference: variance N, with v degrees of freedom. The m differences
give S^2, over m - 1 degrees of freedom. The two are pooled, like the pure error and the lack of fit
of a regression (Draper and Smith, "Applied Regression Analysis", 3rd edition 1998, chapter 2):

    s^2 = (v N + (m - 1) S^2) / (v + m - 1),    mean +- t(v + m - 1) s / sqrt(m).

If the effect of the knob is the same at all values of the others, the interval contains it in 95 %
of cases. If not, S^2 is larger than the noise, and the interval of the mean over these
pairs is too wide, never too narrow (Imai, "Variance identification and efficiency analysis in
randomized experiments under the matched-pair design", Statistics in Medicine 27, 2008). A single
pair has an interval if repeats give the noise, and none otherwise.

The rows of a table do share configs. Their p values are corrected by Holm's method, which assumes
nothing about their dependence (Holm, "A simple sequentially rejective multiple test
procedure", Scandinavian Journal of Statistics 6, 1979).
"""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from enum import StrEnum
from typing import Any, Final

import numpy as np
import numpy.typing as npt
import pandas as pd

from orchestrator.analysis.statistics.intervals import Floats, df_of_sum, t_quantile, two_sided_p

MIN_DF: Final = 2.0
"""With fewer degrees of freedom there is no interval: at 1 t has no mean, and its 95 % is 12.7."""

_EXACT: Final = 1e-24
"""A variance that rounding explains: differences of 10^-12."""

Rows = npt.NDArray[np.intp]


class Basis(StrEnum):
    """Source of an interval."""

    BOTH = "repeats and pairs"
    PAIRS = "pairs"
    REPEATS = "repeats"
    MODEL = "additive model"
    UNKNOWN = "noise not known"


@dataclass(frozen=True, kw_only=True)
class Noise:
    """Variance of one difference from the repeats, and its degrees of freedom; 0 if not known."""

    variance: float = 0.0
    df: float = 0.0


@dataclass(frozen=True, kw_only=True)
class Mean:
    """Mean of differences, or of ratios, over pairs; NaN if not known.

    Attributes:
        effect: The mean; geometric for ratios.
        low: Lower end of its 95 % interval.
        high: Upper end.
        p: For no effect, for this one comparison.
        num: Number of pairs.
        smallest: The smallest of them.
        largest: The largest.
        basis: Source of the interval.
    """

    effect: float
    low: float = float("nan")
    high: float = float("nan")
    p: float = float("nan")
    num: int
    smallest: float
    largest: float
    basis: Basis = Basis.UNKNOWN


class Points:
    """The configs of a table, found from each other by the knobs in which they differ.

    Its key is the sum of a random number for each value (Zobrist, "A new hashing method with
    application for game playing", 1970); two of a million have one key once in 30 million tables.

    Args:
        configs: A column a knob, a row a config; no two rows are equal.

    Attributes:
        values: The distinct values of each column, sorted, in the order of their codes.
        codes: The code of each row's value, an array a column.
    """

    def __init__(self, configs: pd.DataFrame) -> None:
        random, self._keys = np.random.default_rng(0), np.zeros(len(configs), dtype=np.uint64)
        self.values: dict[str, list[Any]] = {}
        self.codes: dict[str, npt.NDArray[np.int32]] = {}
        self._parts: dict[str, npt.NDArray[np.uint64]] = {}
        for name in configs.columns:
            try:
                codes, values = pd.factorize(configs[name], sort=True, use_na_sentinel=False)
            except TypeError:  # values of several types have no order
                codes, values = pd.factorize(configs[name], use_na_sentinel=False)
            self.values[name], self.codes[name] = values.tolist(), codes.astype(np.int32)
            self._parts[name] = random.integers(2**64, size=len(values), dtype=np.uint64)
            self._keys += self._parts[name][codes]
        self._index = pd.Index(self._keys)

    def __len__(self) -> int:
        return len(self._keys)

    @property
    def varied(self) -> list[str]:
        """The columns with two values or more."""
        return [name for name, values in self.values.items() if len(values) > 1]

    def changed(self, rows: Rows, changes: Mapping[str, int]) -> Rows:
        """Return the row of each config with some values changed, by their codes; -1 for none."""
        keys = self._keys[rows]
        for name, code in changes.items():
            keys += self._parts[name][code] - self._parts[name][self.codes[name][rows]]
        return self._index.get_indexer(pd.Index(keys))


def noise_of(variances: Floats, df: Floats) -> Noise:
    """Return the noise of differences of configs, averaged over them.

    Configs with the most degrees of freedom have the pooled variance, which is one estimate; the
    others have their own.

    Args:
        variances: Of the configs' means: a row a difference, a column for each of its configs.
        df: Degrees of freedom of each.
    """
    if not (variances.size and np.isfinite(variances).all() and (df > 0).all()):
        return Noise()
    total = float(variances.sum())
    return Noise(variance=total / len(variances), df=df_of_sum(variances, df, df == df.max()))


def mean_difference(differences: Floats, noise: Noise) -> Mean:
    """Return the mean of independent differences with its interval; see the module.

    If all differences are the same and nothing was repeated, they show no spread: figures that are
    counted in steps are equal by chance.
    """
    num = len(differences)
    centre = float(differences.mean())
    within = float(((differences - centre) ** 2).sum())
    df = noise.df + num - 1
    variance = (noise.df * noise.variance + within) / df if df else 0.0
    smallest, largest = float(differences.min()), float(differences.max())
    mean = Mean(effect=centre, num=num, smallest=smallest, largest=largest)
    if df < MIN_DF or variance <= _EXACT:
        return mean
    error = float(np.sqrt(variance / num))
    half = float(t_quantile(df)) * error
    basis = Basis.PAIRS if not noise.df else Basis.REPEATS if num == 1 else Basis.BOTH
    p = float(two_sided_p(centre / error, df))
    return replace(mean, low=centre - half, high=centre + half, p=p, basis=basis)


def holm(p_values: Floats) -> Floats:
    """Return p values corrected for their number by Holm's method; NaN stays and is not counted."""
    corrected = np.full(len(p_values), np.nan)
    known = np.flatnonzero(np.isfinite(p_values))
    order = known[np.argsort(p_values[known], kind="stable")]
    scaled = p_values[order] * np.arange(len(order), 0, -1)
    corrected[order] = np.minimum(np.maximum.accumulate(scaled), 1.0) if len(order) else scaled
    return corrected
