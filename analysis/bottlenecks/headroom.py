"""What a config's ceilings leave to gain, with an interval over fresh runs of it.

A ceiling over the speed is taken trial by trial: both were measured in one process within
seconds, so that what the host does from one trial to the next is on both sides of it. How
far that ratio differs from run to run is pooled over configs as speeds are, see
:mod:`analysis.statistics.pooling`.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any, Final

import numpy as np
import pandas as pd

from analysis.bottlenecks.prediction import COMPUTE, LOADER, SPEED
from analysis.statistics.intervals import t_quantile
from analysis.statistics.pooling import config_ids, counting, pool_cells, speed_cells
from orchestrator.trial import Stage, TrialState

WORTH: Final = 1.05
"""A gain below this is none worth telling."""
WIDE: Final = 10.0
"""An interval whose ends are farther apart than this says nothing."""

_GAIN: Final = "gain"
_ENDS: Final = {"the loader": COMPUTE, "the model": LOADER}
"""What would be free, with the ceiling that is left then."""


@dataclass(frozen=True, kw_only=True)
class Gain:
    """How many times faster a config were if one of its parts were free.

    Attributes:
        what: The part: of the loader and the model the one that would gain more.
        ratio: The ceiling over the speed, the geometric mean over runs.
        low: Lower end of its 95 % interval; None where no config was repeated.
        high: Upper end, likewise.
    """

    what: str
    ratio: float
    low: float | None = None
    high: float | None = None


def gains_of(trials: pd.DataFrame, configs: pd.DataFrame) -> list[Gain]:
    """The larger gain of each of ``configs``, in their order.

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
    cells = {what: _cells(rows, ids, ceiling) for what, ceiling in _ENDS.items()}
    id_of = dict(zip(rows["trial_id"], ids, strict=True))
    return [
        max((_gain(what, *found, number) for what, found in cells.items()), key=lambda g: g.ratio)
        for number in (
            next(id_of[trial] for trial in trial_ids if trial in id_of)
            for trial_ids in configs["trial_ids"]
        )
    ]


def _cells(
    rows: pd.DataFrame, ids: pd.Series[int], ceiling: str
) -> tuple[pd.DataFrame, pd.Series[Any]]:
    """Each config's ratios, by its number, and the half widths of their means' logarithms."""
    ratios = rows.assign(**{f"metrics.{_GAIN}": rows[ceiling] / rows[SPEED]})
    cells = speed_cells(ratios, [ids, rows["stage"]], _GAIN)
    pool, apart = pool_cells(cells)
    if pool is None:
        return cells.droplevel("stage"), pd.Series(np.nan, index=ids.unique())
    variance = cells["variance"].where(apart, pool.variance) / cells["num"]
    df = (cells["num"] - 1.0).where(apart, pool.df)
    half = variance**0.5 * t_quantile(df.to_numpy())
    return cells.droplevel("stage"), half.droplevel("stage")


def _gain(what: str, cells: pd.DataFrame, half: pd.Series[Any], config: int) -> Gain:
    mean, width = float(cells["mean"][config]), float(half[config])
    if math.isnan(width):
        return Gain(what=what, ratio=math.exp(mean))
    return Gain(
        what=what, ratio=math.exp(mean), low=math.exp(mean - width), high=math.exp(mean + width)
    )


def gain_text(gain: Gain) -> str:
    """``4.1x (3.9x to 4.3x) if the loader were free``, as far as that is clear."""
    told, if_free = _times(gain.ratio, gain), f"if {gain.what} were free"
    if gain.low is None or gain.high is None:
        return f"{told} {if_free}" if gain.ratio >= WORTH else "next to nothing"
    ends = f"{_times(gain.low, gain)} to {_times(gain.high, gain)}"
    if gain.high > WIDE * gain.low:
        return "not clear: its runs' ceilings differ too much"
    if gain.low < 1 and gain.high >= WORTH**2:
        return f"not clear: {ends} {if_free}"
    if gain.low < 1 or gain.ratio < WORTH:
        return "next to nothing"
    return f"{told} ({ends}) {if_free}"


def _times(factor: float, gain: Gain) -> str:
    """With as many digits after the point as suit the gain itself."""
    digits = 2 if gain.ratio < 2 else 1 if gain.ratio < 10 else 0
    return f"{factor:,.{digits}f}x"
