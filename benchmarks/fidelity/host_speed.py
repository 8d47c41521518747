"""Speeds as they would be had the host been as fast in every run.

A run's rows carry ``host_speed``, the mean speed of the yardstick
(:mod:`benchmarks.fidelity.yardstick`), and ``host_speed_slope``, the relative change of the run's
own speed for one of the yardstick's, from epoch to epoch. With both a run is brought to the mean
yardstick of all runs, as a covariate is in an analysis of covariance. The slope comes from within
the runs, so that no difference between configs can hide in it.
"""

from __future__ import annotations

from typing import Any, Final

import numpy as np
import pandas as pd

from orchestrator.analysis.statistics.pooling import config_ids

HOST_SPEED: Final = "metrics.host_speed"
SLOPE: Final = "metrics.host_speed_slope"
_MAX_SLOPE: Final = 1.5
"""No trial follows its host further than that: what is above is noise."""


def host_effect(trials: pd.DataFrame) -> pd.Series[Any]:
    """Return the host's part of each run's log speed, against the mean of all runs.

    It is 0 where it is not known: no yardstick, or no run of the config with a slope.
    """
    if not {HOST_SPEED, SLOPE} <= set(trials.columns):
        return pd.Series(0.0, index=trials.index)
    logs = np.log(trials[HOST_SPEED].where(trials[HOST_SPEED] > 0))
    slopes = trials[SLOPE].groupby(config_ids(trials)).transform("median")
    effect: pd.Series[Any] = slopes.clip(0.0, _MAX_SLOPE) * (logs - logs.mean())
    return effect.fillna(0.0)


def at_equal_host_speed(trials: pd.DataFrame, column: str) -> pd.Series[Any]:
    """Return column ``column``, a rate, as it would be at the mean host speed of all runs."""
    rates: pd.Series[Any] = trials[column] * np.exp(-host_effect(trials))
    return rates
