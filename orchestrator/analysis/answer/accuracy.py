"""The difference in accuracy between a config and the baseline, with its interval."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from orchestrator.analysis.columns import rows_of
from orchestrator.analysis.statistics.intervals import CONFIDENCE, is_narrow, t_quantile
from orchestrator.analysis.tables.run_tables import RunTables
from orchestrator.metrics import Goal
from orchestrator.space.knob import Role
from orchestrator.trial import Stage, TrialState


@dataclass(frozen=True, kw_only=True)
class Difference:
    """A config's accuracy less the baseline's, in the accuracy's own unit.

    Attributes:
        centre: Of the means.
        low: Lower end of the 95 % interval.
        high: Upper end.
        sign: +1 where more is better, -1 where less is.
        tolerance: Differences within it are none.
        selected: True where it is of the runs that selected the config, which flatter it.
    """

    centre: float
    low: float
    high: float
    sign: float = 1.0
    tolerance: float = 0.0
    selected: bool = False

    @property
    def is_better(self) -> bool:
        """True if the config is shown to be more accurate."""
        return min(self.sign * self.low, self.sign * self.high) > 0

    @property
    def is_worse(self) -> bool:
        """True if the config is shown to be less accurate."""
        return max(self.sign * self.low, self.sign * self.high) < 0

    @property
    def is_none(self) -> bool:
        """True if the two are shown to be as accurate within the tolerance."""
        return -self.tolerance <= self.low and self.high <= self.tolerance


def accuracy_difference(tables: RunTables, config: Mapping[str, Any]) -> Difference | None:
    """Return the difference of a config from the baseline; None where it is not known.

    From the rounds of the confirm stage where two have both accuracies: a paired t interval, since
    the runs of a round have one seed. Otherwise from the searching runs, of three seeds at least of
    the two: a t interval with their pooled variance; two runs of one seed are one. Contaminated
    runs count, since other load changes no accuracy. An interval that is as wide as half of the
    accuracy tells no difference.
    """
    rule = tables.rule
    paired = _paired(tables, config)
    mean, interval = paired or _unpaired(tables, config) or (0.0, None)
    if interval is None:
        return None
    low, high = interval[1:]
    if mean > 0 and not is_narrow(mean + low, mean + high):
        return None
    return Difference(
        centre=interval[0],
        low=low,
        high=high,
        sign=1.0 if rule.accuracy.goal is Goal.MAXIMIZE else -1.0,
        tolerance=(rule.accuracy.tolerance or 0.0) * (abs(mean) if rule.accuracy.relative else 1),
        selected=paired is None,
    )


_Known = tuple[float, tuple[float, float, float]]
"""The baseline's mean, and the difference from it with its ends."""


def _paired(tables: RunTables, config: Mapping[str, Any]) -> _Known | None:
    rows, column = tables.confirm_rows, tables.rule.accuracy_column
    done = rows[(rows["state"] == TrialState.COMPLETED) & rows[column].notna()]
    ours, theirs = (
        done[rows_of(done, which)].groupby("repeat")[column].mean()
        for which in (config, tables.sweep.baseline)
    )
    differences = (ours - theirs).dropna()
    if len(differences) < 2:
        return None
    error = float(differences.std(ddof=1)) / math.sqrt(len(differences))
    values = _interval(float(differences.mean()), error, len(differences) - 1)
    return float(theirs[differences.index].mean()), values


def _unpaired(tables: RunTables, config: Mapping[str, Any]) -> _Known | None:
    ours, theirs = (_searched(tables, which) for which in (config, tables.sweep.baseline))
    df = len(ours) + len(theirs) - 2
    if not len(ours) or not len(theirs) or df < 1:
        return None
    squares = sum(float(((values - values.mean()) ** 2).sum()) for values in (ours, theirs))
    error = math.sqrt(squares / df * (1 / len(ours) + 1 / len(theirs)))
    return float(theirs.mean()), _interval(float(ours.mean() - theirs.mean()), error, df)


def _searched(tables: RunTables, config: Mapping[str, Any]) -> npt.NDArray[np.float64]:
    """Return a config's accuracy by each seed that searched; of a factored search its curves'."""
    if tables.is_composed:  # a curve is of all settings that learn alike
        config = {k: v for k, v in config.items() if tables.roles.get(k) is not Role.SYSTEMS}
    rows, column = tables.searched, tables.rule.accuracy_column
    own = rows[(rows["stage"] == Stage.TRAIN) & (rows["state"] == TrialState.COMPLETED)]
    accuracies = own[rows_of(own, config)].groupby("seed", dropna=False)[column].mean().dropna()
    return accuracies.to_numpy(dtype=np.float64)


def _interval(centre: float, error: float, df: int) -> tuple[float, float, float]:
    half = float(t_quantile(np.array([float(df)]), (1 + CONFIDENCE) / 2)[0]) * error
    return centre, centre - half, centre + half
