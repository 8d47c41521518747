"""Gains of each config if its loader, or its model, were free.

A ceiling over the speed is taken trial by trial: both were measured in one process within
seconds, so that changes of the host from one trial to the next are on both sides. The variance of
that ratio between runs is pooled over configs as that of speeds is, see
:mod:`analysis.statistics.pooling`.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any, Final

import numpy as np
import pandas as pd

from analysis.statistics.intervals import t_quantile
from analysis.statistics.pooling import config_ids, counting, pool_cells, speed_cells
from orchestrator.trial import Stage, TrialState

LOADER: Final = "metrics.loader_only_samples_per_s"
COMPUTE: Final = "metrics.compute_only_samples_per_s"
SPEED: Final = "metrics.samples_per_s"

_GAIN: Final = "gain"
_CEILINGS: Final = {"the loader": COMPUTE, "the model": LOADER}
"""The ceiling that is left where a part is free."""


@dataclass(frozen=True, kw_only=True)
class Gain:
    """Speed of a config if one of its parts were free, over its speed.

    Attributes:
        part: Of the loader and the model the one with the larger gain.
        ratio: The ceiling over the speed, the geometric mean over runs.
        low: Lower end of its 95 % interval; NaN where no config was repeated.
        high: Upper end, likewise.
    """

    part: str
    ratio: float
    low: float = math.nan
    high: float = math.nan


def gains_of(trials: pd.DataFrame, configs: pd.DataFrame) -> list[Gain]:
    """Return the larger gain of each of ``configs``, in their order.

    Args:
        trials: The trials table.
        configs: Rows made from it (:func:`analysis.statistics.by_config.by_config`) that have both
            ceilings and a speed.
    """
    done = (trials["stage"] == Stage.TRAIN) & (trials["state"] == TrialState.COMPLETED)
    rows = trials[done & trials[[SPEED, LOADER, COMPUTE]].notna().all(axis=1)]
    ids = config_ids(trials)[rows.index]
    counted = counting(rows, [ids])
    rows, ids = rows[counted], ids[counted]
    gains = [_gains(rows, ids, part) for part in _CEILINGS]
    config_by_trial = dict(zip(rows["trial_id"], ids, strict=True))
    numbers = (
        next(config_by_trial[trial] for trial in trial_ids if trial in config_by_trial)
        for trial_ids in configs["trial_ids"]
    )
    return [max((each[number] for each in gains), key=lambda g: g.ratio) for number in numbers]


def _gains(rows: pd.DataFrame, ids: pd.Series[int], part: str) -> dict[int, Gain]:
    """Return the gain of each config by its number, were ``part`` free."""
    ratios = rows.assign(**{f"metrics.{_GAIN}": rows[_CEILINGS[part]] / rows[SPEED]})
    cells = speed_cells(ratios, [ids, rows["stage"]], _GAIN)
    pool, apart = pool_cells(cells)
    half = pd.Series(np.nan, index=cells.index)
    if pool is not None:
        variance = cells["variance"].where(apart, pool.variance) / cells["num"]
        df = (cells["num"] - 1.0).where(apart, pool.df)
        half = variance**0.5 * t_quantile(df.to_numpy())
    ends: Any = np.exp(pd.DataFrame({"low": cells["mean"] - half, "high": cells["mean"] + half}))
    table = ends.assign(ratio=np.exp(cells["mean"])).droplevel("stage")
    return {number: Gain(part=part, **row) for number, row in table.to_dict("index").items()}
