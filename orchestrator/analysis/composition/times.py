"""The time of a config, composed of what its probes and its curves each tell.

    time = set-up + epochs x epoch start + samples / speed + evaluations

The speed and the start of an epoch are its setting's. The samples, the epochs, the time of all
evaluations and the set-up are its combination's.
"""

from __future__ import annotations

from typing import Final

import numpy as np
import pandas as pd

from orchestrator.analysis.columns import text_of
from orchestrator.analysis.composition.parts import COMBINATION
from orchestrator.metric_table import TOTALS
from orchestrator.trial import Stage, TrialState

RATE: Final = "metrics.samples_per_s"

_EPOCH_S: Final = "metrics.epoch_s"
_START_S: Final = "metrics.epoch_start_s"
_OF_CURVES: Final = ("samples", "epochs", "eval_s", "setup_s", "to_target", "efficiency")
WALL: Final = "wall_s"

TIMES: Final = ("train_s", "epoch_s", "eval_s", "time_to_accuracy_s")
"""Composed times by the metric that is measured of a whole training."""
UNTOLD: Final = (*TIMES, *TOTALS, "first_epoch_s", "major_faults")
"""Figures that a probe's own say nothing of."""


def curve_times(trials: pd.DataFrame, ends: pd.DataFrame, curves: pd.DataFrame) -> pd.DataFrame:
    """Return the times of the curves of each combination, by the combination's number.

    Columns: ``epochs`` and ``samples`` of the whole curve; ``eval_s``, the time of its
    evaluations; ``setup_s``, the time of a trial beside training and evaluation;
    ``to_target``, epochs to the sweep's target; ``efficiency``, goodput over speed. The time of an
    evaluation and the set-up are the sweep's medians where a combination has none of its own.

    Args:
        trials: From :func:`~orchestrator.analysis.composition.parts.with_keys`.
        ends: The last rows of the curves, from ``curve_ends``.
        curves: One row a report; without any the samples follow from the rates.
    """
    per_epoch, setup_s = _shares(trials)
    epochs = _cells(ends, "metrics.epochs")
    rows = pd.DataFrame(
        {
            COMBINATION: ends[COMBINATION],
            "epochs": epochs,
            "samples": epochs * _samples_per_epoch(ends, curves),
            "to_target": _cells(ends, "metrics.time_to_accuracy_s") / _cells(ends, _EPOCH_S),
            "efficiency": _cells(ends, "metrics.goodput") / _cells(ends, RATE),
        }
    )
    of_combination = rows.groupby(COMBINATION, sort=False).mean()
    own = per_epoch.reindex(of_combination.index).fillna(per_epoch.median())
    return of_combination.assign(
        eval_s=own * of_combination["epochs"],
        setup_s=setup_s.reindex(of_combination.index).fillna(setup_s.median()),
    )


def _shares(trials: pd.DataFrame) -> tuple[pd.Series[float], pd.Series[float]]:
    """Return the evaluation time of an epoch and the set-up of a process, by combination.

    A trial that went on from a pause has the times of the whole curve, and the seconds of its own
    process: it tells nothing of the set-up.
    """
    rows = trials[trials["stage"] == Stage.TRAIN]
    rows = rows[rows["state"].isin([TrialState.COMPLETED, TrialState.STOPPED])]
    train_s, eval_s = (_cells(rows, f"metrics.{name}") for name in ("train_s", "eval_s"))
    per_epoch = eval_s / _cells(rows, "metrics.epochs")
    setup_s = (_cells(rows, WALL) - train_s - eval_s.fillna(0.0)).clip(lower=0)
    setup_s = setup_s.where(_cells(rows, "metrics.earlier_epochs").isna())
    keys = rows[COMBINATION]
    return per_epoch.groupby(keys).median(), setup_s.groupby(keys).median()


def _samples_per_epoch(ends: pd.DataFrame, curves: pd.DataFrame) -> pd.Series[float]:
    """Return the samples of an epoch of each row: as reported, or as its own rate tells."""
    speed = _cells(ends, RATE)
    told = (_cells(ends, _EPOCH_S) - _starts(ends)) * speed
    if curves.empty:
        return told
    last = curves.groupby("trial_id")[["samples", "epoch"]].max().astype("float64")
    reported = last["samples"] / last["epoch"].where(last["epoch"] > 0)
    return ends["trial_id"].map(reported).astype("float64").fillna(told)


def _starts(rows: pd.DataFrame) -> pd.Series[float]:
    """Return the start of an epoch that comes on top of samples over speed.

    Nothing where epochs are too short for a steady state: the rate has the start in it then.
    """
    starts = _cells(rows, _START_S).fillna(0.0)
    if "tags.rate" not in rows.columns:
        return starts
    return starts.mask(rows["tags.rate"].map(text_of) == "epochs", 0.0)


def with_times(configs: pd.DataFrame) -> pd.DataFrame:
    """Return the configs with composed times, and without the columns that they are made of.

    Args:
        configs: With the columns of :func:`curve_times`, and the speed and the start of an epoch
            of each config's setting.
    """
    speed, epochs = _cells(configs, RATE), configs["epochs"]
    epoch_s = _starts(configs) + configs["samples"] / epochs.where(epochs > 0) / speed
    train_s = epochs * epoch_s
    times = {
        "metrics.epoch_s": epoch_s,
        "metrics.train_s": train_s,
        "metrics.eval_s": configs["eval_s"],
        "metrics.time_to_accuracy_s": configs["to_target"] * epoch_s,
        "metrics.goodput": configs["efficiency"] * speed,
        WALL: configs["setup_s"] + train_s + configs["eval_s"].fillna(0.0),
    }
    known = {name: value for name, value in times.items() if name in configs or name == WALL}
    return configs.assign(**known).drop(columns=list(_OF_CURVES))


def _cells(rows: pd.DataFrame, column: str) -> pd.Series[float]:
    if column not in rows.columns:
        return pd.Series(np.nan, index=rows.index, dtype="float64")
    return rows[column].astype("float64")
