"""The speed of each setting, from its probes."""

from __future__ import annotations

from typing import Final

import pandas as pd

from orchestrator.analysis.columns import params_of
from orchestrator.analysis.comparable import probed_co_located
from orchestrator.analysis.composition.keys import SETTING
from orchestrator.analysis.statistics.by_config import by_config
from orchestrator.trial import Stage, TrialState

_START: Final = "metrics.epoch_start_s"

ENDED: Final = (TrialState.COMPLETED, TrialState.STOPPED)


def speeds_of(trials: pd.DataFrame, speed: str) -> pd.DataFrame:
    """Return one row a setting and group.

    The columns are those of :func:`~orchestrator.analysis.statistics.by_config.by_config`. The runs
    of a setting are repeats of each other, whatever the ``learning`` knobs of each: the spread
    between them is pooled over the settings. A setting that was never probed has the speed of its
    training runs. One that was trained has the start of an epoch from there: a probe sees the first
    epoch's, in which workers that persist are started.

    Args:
        trials: From :func:`~orchestrator.analysis.composition.keys.with_keys`.
        speed: The measured rate.
    """
    others = [name for name in params_of(trials) if name != SETTING]
    runs = trials.drop(columns=others)
    isolated = runs[~probed_co_located(runs)]
    if (isolated["stage"] == Stage.PROBE).any():  # co-located ones are the interference check's
        runs = isolated
    probed, trained = (
        by_config(runs, stage=stage, states=ENDED, speed=speed)
        for stage in (Stage.PROBE, Stage.TRAIN)
    )
    probed = _with_starts(probed, trained)
    unprobed = trained[~trained[SETTING].isin(probed[SETTING])]
    known = [table for table in (probed, unprobed) if len(table)]
    return pd.concat(known, ignore_index=True) if known else probed


def _with_starts(probed: pd.DataFrame, trained: pd.DataFrame) -> pd.DataFrame:
    if _START not in probed.columns or trained.empty:
        return probed
    starts = probed[SETTING].map(trained.groupby(SETTING)[_START].mean())
    return probed.assign(**{_START: starts.fillna(probed[_START])})
