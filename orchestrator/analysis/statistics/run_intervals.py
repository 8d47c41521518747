"""The interval of each run's speed: where the rate of its config over fresh runs lies.

A run's own interval, over the blocks within it, is narrower than what two fresh runs of one
config differ by. So where anything was repeated, a row's interval is one of a single run,
with the spread between runs that :mod:`orchestrator.analysis.statistics.pooling` has learned.
"""

from __future__ import annotations

from typing import Any, Final

import numpy as np
import pandas as pd

from orchestrator.analysis.comparable import GROUP
from orchestrator.analysis.statistics.intervals import t_quantile
from orchestrator.analysis.statistics.pooling import (
    OVER_ONE_RUN,
    OVER_RUNS,
    Pool,
    config_ids,
    pools_by_stage,
    speed_cells,
)
from orchestrator.trial import Stage

SPEED: Final = "samples_per_s"
OVER: Final = "tags.interval_over"
"""Column that says what a row's interval holds."""


def run_intervals(grouped: pd.DataFrame) -> dict[str, pd.Series[Any]]:
    """Return the ends of each row's interval and :data:`OVER`, by column; {} without speeds.

    The intervals hold the config's rate over fresh processes in 95 % of cases; where nothing was
    repeated they are those within the run, and empty where it has no such interval either.

    Args:
        grouped: The trials, with the ``group`` of comparable rows.
    """
    name = f"metrics.{SPEED}"
    if name not in grouped.columns or grouped.empty:
        return {}
    ends = {end: _column(grouped, f"{name}_within_{end}") for end in ("low", "high")}
    over = pd.Series(OVER_ONE_RUN, index=grouped.index, dtype="str").where(ends["low"].notna())
    for stage, pools in pools_by_stage(grouped, stages=Stage, speed=SPEED).items():
        of_stage = grouped[(grouped["stage"] == stage) & (grouped[name] > 0)]
        for group, rows in of_stage.groupby(GROUP, sort=False):
            if str(group) not in pools:
                continue
            half, label = _half_widths(rows, grouped, *pools[str(group)])
            ends["low"].loc[rows.index] = rows[name] * np.exp(-half)
            ends["high"].loc[rows.index] = rows[name] * np.exp(half)
            over.loc[rows.index] = label
    return {f"{name}_{end}": values for end, values in ends.items()} | {OVER: over}


def _column(trials: pd.DataFrame, name: str) -> pd.Series[Any]:
    empty = pd.Series(np.nan, index=trials.index, dtype="float64")
    return trials[name].copy() if name in trials.columns else empty


def _half_widths(
    rows: pd.DataFrame, trials: pd.DataFrame, pool: Pool, apart: pd.Series[bool]
) -> tuple[pd.Series[float], pd.Series[str]]:
    """Return half the width of each row's interval of the logarithm, and what it is over."""
    ids = config_ids(trials)[rows.index]
    within = speed_cells(rows, [pd.Series(rows.index, index=rows.index)], SPEED)["within"]
    variance = pool.run_variance(within.reindex(rows.index))
    df = pd.Series(float(pool.df), index=rows.index)
    label = pd.Series(pool.label, index=rows.index, dtype="str")
    own = speed_cells(rows, [ids], SPEED)
    isolated = ids.isin(apart.index[apart])
    variance = variance.mask(isolated, ids.map(own["variance"]))
    df = df.mask(isolated, ids.map(own["num"]) - 1.0)
    label = label.mask(isolated, OVER_RUNS)
    quantile = pd.Series(t_quantile(np.asarray(df, dtype=np.float64)), index=rows.index)
    return quantile * np.sqrt(variance), label
