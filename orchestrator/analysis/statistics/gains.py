"""Gains of each config if its loader, or its model, were free.

A ceiling over the speed is taken trial by trial: both were measured in one process within
seconds, so changes of the host between trials affect both. The ratios of a config's runs
are combined as speeds are, see :mod:`orchestrator.analysis.statistics.by_config`.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Final

import pandas as pd

from orchestrator.analysis.statistics.by_config import by_config
from orchestrator.trial import Stage

LOADER: Final = "metrics.loader_only_samples_per_s"
COMPUTE: Final = "metrics.compute_only_samples_per_s"
SPEED: Final = "metrics.samples_per_s"

_CEILINGS: Final = {"the loader": COMPUTE, "the model": LOADER}
"""The ceiling that remains if a part is free."""


@dataclass(frozen=True, kw_only=True)
class Gain:
    """Speed of a config if one of its parts were free, over its speed.

    Attributes:
        part: The part with the larger gain, the loader or the model.
        ratio: The ceiling over the speed, the geometric mean over runs.
        low: Lower end of its 95 % interval; NaN if no config was repeated.
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
        configs: Rows made from it (:func:`orchestrator.analysis.statistics.by_config.by_config`)
            that have both ceilings and a speed.
    """
    has_ceilings = trials[[SPEED, LOADER, COMPUTE]].notna().all(axis=1)
    # Interleaved runs of the confirm stage share their cores, so their ratios vary differently.
    measured = trials[has_ceilings & (trials["stage"] == Stage.TRAIN)]
    by_trial: dict[str, list[Gain]] = {}
    for part, ceiling in _CEILINGS.items():
        ratios = measured.assign(**{"metrics.gain": measured[ceiling] / measured[SPEED]})
        for row in by_config(ratios, speed="gain").to_dict("records"):
            ends = {end: row[f"metrics.gain_{end}"] for end in ("low", "high")}
            gain = Gain(part=part, ratio=row["metrics.gain"], **ends)
            for trial in row["trial_ids"]:
                by_trial.setdefault(trial, []).append(gain)
    return [
        max(next(by_trial[trial] for trial in ids if trial in by_trial), key=lambda g: g.ratio)
        for ids in configs["trial_ids"]
    ]
