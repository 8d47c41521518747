"""Drift of the machine's speed while a sweep ran.

Each config has its own level in each stage, interleaved runs have another level, and all share one
slope of the logarithm of speed over time. The runs of an interleaved round share the machine's
state at that time, and count as one. The baseline is followed through all stages; other configs
only through the confirm stage and the isolated probes of the interference check. Repeats that were
added because a config looked fastest would show a false decline: its first run was selected for
being fast. Contaminated runs are left out if the config has clean ones in the stage.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final

import numpy as np
import pandas as pd

from orchestrator.analysis.columns import rows_of
from orchestrator.analysis.comparable import GROUP, probed_co_located
from orchestrator.analysis.rule import Rule
from orchestrator.analysis.statistics.intervals import (
    CONFIDENCE,
    is_narrow,
    t_quantile,
    two_sided_p,
)
from orchestrator.analysis.statistics.pooling import config_ids, counting, were_interleaved
from orchestrator.analysis.wording import MOST_FACTOR
from orchestrator.formats import counted, duration, percent
from orchestrator.trial import Stage, TrialState

MIN_RUNS: Final = 4
"""A line through fewer runs shows nothing."""


@dataclass(frozen=True, kw_only=True)
class Drift:
    """Change of speeds in the course of a run, over all configs that were repeated.

    Attributes:
        change: Relative change of speed from the first of the runs to the last; negative
            if they became slower.
        low: Lower end of its 95 % interval.
        high: Upper end.
        p_value: Probability of a slope as steep without any drift.
        num_configs: Number of configs it was estimated from.
        num_runs: Number of their runs.
        span_s: Time between the first of these runs and the last.
    """

    change: float
    low: float
    high: float
    p_value: float
    num_configs: int
    num_runs: int
    span_s: float

    @property
    def per_hour(self) -> float:
        """Relative change of speed an hour, at the same pace."""
        return math.expm1(math.log1p(self.change) * 3600 / self.span_s)

    @property
    def is_known(self) -> bool:
        """True if the interval shows how much the speed changed."""
        return is_narrow(1 + self.low, 1 + self.high)

    @property
    def is_significant(self) -> bool:
        """True if chance rarely produces such a slope (5 %)."""
        return self.p_value < 1 - CONFIDENCE

    @property
    def text(self) -> str:
        """The drift in a sentence."""
        way = "slower" if self.change < 0 else "faster"
        if not self.is_known:
            return (
                "how much the machine's speed changed while the sweep ran is not known: the "
                f"interval spans more than a factor of {MOST_FACTOR:g}"
            )
        over = (
            f"95 % interval {100 * self.low:+.1f} to {100 * self.high:+.1f} % over "
            f"{duration(self.span_s)}, {counted(self.num_runs, 'run')} of "
            f"{counted(self.num_configs, 'config')}"
        )
        if not self.is_significant:
            return f"no drift is shown: speeds changed by {100 * self.change:+.1f} % ({over})"
        return (
            f"the machine became {way} by {percent(abs(self.change), digits=1)} while the sweep "
            f"ran ({over}): configs that ran at other times are not alike"
        )

    def to_json(self) -> dict[str, Any]:
        """Return the content for ``recommended.json``."""
        names = ("change", "low", "high", "per_hour")
        return {
            **{name: getattr(self, name) if self.is_known else None for name in names},
            "p_value": self.p_value,
            "is_significant": self.is_significant,
            "num_configs": self.num_configs,
            "num_runs": self.num_runs,
            "span_s": self.span_s,
            "text": self.text,
        }


def drift_of(
    grouped: pd.DataFrame, main: str, baseline: Mapping[str, Any], rule: Rule
) -> Drift | None:
    """Return the drift of a run; None if too few configs were repeated.

    Args:
        grouped: The trials, with the ``group`` of comparable rows.
        main: The group that is examined.
        baseline: The sweep's baseline.
        rule: The rule, for the speed that is followed.
    """
    if rule.speed_column not in grouped.columns or "started_at" not in grouped.columns:
        return None
    checked = (Stage.PROBE,) if probed_co_located(grouped).any() else ()
    followed = rows_of(grouped, baseline) | grouped["stage"].isin([Stage.CONFIRM, *checked])
    is_known = (grouped["state"] == TrialState.COMPLETED) & (grouped[rule.speed_column] > 0)
    is_known &= ~probed_co_located(grouped)
    is_known &= grouped["started_at"].notna() & (grouped[GROUP] == main)
    runs = grouped[followed & is_known]
    ids = config_ids(runs) if len(runs) else pd.Series(dtype="int64")
    runs = runs[counting(runs, [ids, runs["stage"]])]
    cells = runs.groupby(_cells(runs, ids), sort=False)["stage"]
    runs = runs[cells.transform("size") > 1] if len(runs) else runs
    if len(runs) < MIN_RUNS:
        return None
    return _line(runs, ids[runs.index], rule)


def _cells(runs: pd.DataFrame, ids: pd.Series[Any]) -> list[pd.Series[Any]]:
    """Return the cells that runs with a common level share."""
    return [ids[runs.index], runs["stage"], were_interleaved(runs).rename("interleaved")]


def _line(runs: pd.DataFrame, ids: pd.Series[Any], rule: Rule) -> Drift | None:
    """Fit least squares with a level for each cell; an interleaved round is one point."""
    keys = _cells(runs, ids)
    began_s = (runs["started_at"] - runs["started_at"].min()).dt.total_seconds()
    logs = rule.speed.sign * np.log(runs[rule.speed_column])
    x, y = (values - values.groupby(keys).transform("mean") for values in (began_s, logs))
    together = were_interleaved(runs)
    rounds = [runs.loc[together, "stage"], runs.loc[together, "repeat"]]
    x, y = (
        pd.concat([one[~together], one[together].groupby(rounds).mean()], ignore_index=True)
        for one in (x, y)
    )
    alone = runs[~together].groupby([key[~together] for key in keys]).ngroups
    df = len(x) - alone - rounds[0].nunique() - 1
    squares, span_s = float((x**2).sum()), float(began_s.max())
    if df < 1 or not squares or not span_s:
        return None
    slope = float((x * y).sum()) / squares
    error = math.sqrt(float(((y - slope * x) ** 2).sum()) / df / squares)
    half = float(t_quantile(df)) * error
    change, low, high = (math.expm1(one * span_s) for one in (slope, slope - half, slope + half))
    return Drift(
        change=change,
        low=low,
        high=high,
        p_value=float(two_sided_p(slope / error, df)) if error else float(slope == 0),
        num_configs=int(ids.nunique()),
        num_runs=len(runs),
        span_s=span_s,
    )
