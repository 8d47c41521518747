"""The parts of composed figures: the speed of each setting; accuracy and times of each combination.

    time = set-up + warm-up + epochs x epoch start + samples / speed + evaluations

The speed, the start of an epoch, the set-up and the warm-up are its setting's. The samples, the
epochs and the time of all evaluations are its combination's.
"""

from collections.abc import Mapping, Sequence
from typing import Final

import numpy as np
import pandas as pd

from orchestrator.analysis.columns import metrics_of, numbers_of, params_of, varying_params_of
from orchestrator.analysis.comparable import speed_stages
from orchestrator.analysis.rule import GOODPUT, SPEED, TIME
from orchestrator.analysis.statistics.by_config import by_config
from orchestrator.analysis.statistics.curves import last_of_curves
from orchestrator.analysis.statistics.intervals import t_quantile
from orchestrator.analysis.statistics.starts import (
    SETUP,
    START_S,
    WALL,
    WARM_UP,
    epoch_starts,
    one_offs,
)
from orchestrator.metric_table import TOTALS
from orchestrator.metrics import is_learned
from orchestrator.space.knob import Role
from orchestrator.trial import Stage, TrialState

SETTING: Final = "params.setting"
"""Column of a number that is the same for configs whose steps take as long."""
COMBINATION: Final = "params.combination"
"""Column of a number that is the same for configs that learn alike."""
CONFIG: Final = "params.config"
"""Column of a number that is the same for equal configs."""

KEYS: Final = (SETTING, COMBINATION, CONFIG)

ENDED: Final = (TrialState.COMPLETED, TrialState.STOPPED)
_ROLES: Final = {
    SETTING: (Role.SYSTEMS, Role.BOTH),
    COMBINATION: (Role.LEARNING, Role.BOTH),
    CONFIG: tuple(Role),
}

_EPOCH_S: Final = "metrics.epoch_s"
_MEMORY: Final = tuple(f"metrics.{name}_gib" for name in ("peak_rss", "peak_pss", "peak_gpu"))
_PARTS: Final = (SETUP, WARM_UP, "samples", "epochs", "eval_s", "to_target", "efficiency")

TIMES: Final = ("train_s", "epoch_s", "eval_s", "time_to_accuracy_s")
"""Composed times by the metric that is measured of a whole training."""
UNTOLD: Final = (*TIMES, *TOTALS, "first_epoch_s", "major_faults")
"""Figures of whole trainings, which no probe has."""


def with_keys(
    trials: pd.DataFrame, candidates: pd.DataFrame, roles: Mapping[str, Role]
) -> tuple[pd.DataFrame, pd.DataFrame]:
    """Return both tables with the columns :data:`KEYS`, which have one meaning in the two.

    Args:
        trials: The trials, with a ``params.`` column for each knob.
        candidates: Configs, with the same columns.
        roles: Role of each knob.
    """
    columns = [name for name in params_of(trials) if name in candidates.columns]
    like_trials = candidates.astype({name: trials[name].dtype for name in columns})
    both = pd.concat([trials[columns], like_trials[columns]], ignore_index=True)
    keys, varying = {}, varying_params_of(both)
    for key, of in _ROLES.items():
        deciding = [name for name in varying if roles[name.removeprefix("params.")] in of]
        numbers = both.groupby(deciding or (lambda _: 0), sort=False, dropna=False).ngroup()
        keys[key] = numbers.to_numpy()
    return (
        trials.assign(**{key: values[: len(trials)] for key, values in keys.items()}),
        like_trials.assign(**{key: values[len(trials) :] for key, values in keys.items()}),
    )


def speeds_of(trials: pd.DataFrame, speed: str) -> pd.DataFrame:
    """Return one row a setting and group, with the columns of ``by_config``.

    The runs of a setting are repeats of each other, whatever the ``learning`` knobs of each. A
    setting that was never probed has the speed of its training runs. One that was trained has the
    start of an epoch from there: a probe sees the first epoch's, in which workers that persist are
    started. So is its memory, which includes the evaluations'.

    Args:
        trials: From :func:`with_keys`.
        speed: The measured rate.
    """
    others = [name for name in params_of(trials) if name != SETTING]
    runs = trials.drop(columns=others)
    stages = speed_stages(runs)
    if (stages == Stage.PROBE).any():
        runs = runs[runs["stage"] == stages]
    probed, trained = (
        by_config(runs, stage=stage, states=ENDED, speed=speed)
        for stage in (Stage.PROBE, Stage.TRAIN)
    )
    probed = _with_trained(probed, trained)
    unprobed = trained[~trained[SETTING].isin(probed[SETTING])]
    known = [table for table in (probed, unprobed) if len(table)]
    return pd.concat(known, ignore_index=True) if known else probed


def _with_trained(probed: pd.DataFrame, trained: pd.DataFrame) -> pd.DataFrame:
    """Return the settings with the epoch starts and the memory of their trainings.

    A probe evaluates nothing. So the memory of a setting that was not trained is its probes' times
    the median of what trainings of the others have more.
    """
    columns = [name for name in (START_S, *_MEMORY) if name in probed.columns and len(trained)]
    for name in columns:
        own = probed[SETTING].map(trained.groupby(SETTING)[name].mean())
        more = (own / probed[name]).median() if name in _MEMORY else 1.0
        more = max(more, 1.0) if more > 0 else 1.0
        probed = probed.assign(**{name: own.fillna(more * probed[name])})
    return probed


def curve_ends(trials: pd.DataFrame, state: TrialState, *, to_target: bool) -> pd.DataFrame:
    """Return the last row of each curve of stage ``train`` that ended in ``state``.

    Stopped ones count only for combinations without a curve that was trained in full.

    Args:
        trials: From :func:`with_keys`.
        state: ``completed`` or ``stopped``.
        to_target: True where a curve that has reached the target is trained in full.
    """
    of_stage = trials[trials["stage"] == Stage.TRAIN]
    ended = of_stage[of_stage["state"].isin(ENDED)]
    ends = ended[last_of_curves(ended)]
    completed = ends["state"] == TrialState.COMPLETED
    if to_target and TIME in ends.columns:
        completed |= ends[TIME].notna()
    if state is TrialState.COMPLETED:
        return ends[completed]
    return ends[~ends[COMBINATION].isin(ends.loc[completed, COMBINATION])]


def learned_of(
    ends: pd.DataFrame, objectives: Sequence[str], key: str = COMBINATION
) -> pd.DataFrame:
    """Return one row a combination, or a ``key`` of another name: means over its seeds.

    Columns: every figure of what was learned; ``_low`` and ``_high`` of the objectives among them,
    a t interval for the mean with the spread between seeds pooled over all combinations that were
    trained with several, NaN where none was; ``num_all_runs``, its curves, and their
    ``curve_ids``.

    Args:
        ends: From :func:`curve_ends`.
        objectives: Metrics that get an interval.
        key: Of :data:`KEYS`.
    """
    columns = [name for name in metrics_of(ends) if is_learned(name.removeprefix("metrics."))]
    of_seed = ends.groupby([key, "seed"], sort=False, dropna=False)[columns].mean()
    of_combination = of_seed.groupby(level=key, sort=False)
    means, counts = of_combination.mean(), of_combination.count()
    wanted = {f"metrics.{name}" for name in objectives}
    bounded = [name for name in columns if name in wanted]
    df = (counts[bounded] - 1).clip(lower=0)
    pooled_df = df.sum().where(df.sum() > 0)
    pooled = (of_combination[bounded].var().fillna(0.0) * df).sum() / pooled_df
    quantile = t_quantile(pooled_df.to_numpy(dtype=np.float64))
    half = (pooled / counts[bounded].where(counts[bounded] > 0)) ** 0.5 * quantile
    ids = ends.groupby(key, sort=False)["trial_id"].agg(tuple)
    return means.assign(
        **{f"{name}_low": means[name] - half[name] for name in bounded},
        **{f"{name}_high": means[name] + half[name] for name in bounded},
        num_all_runs=ids.map(len),
        curve_ids=ids,
    )


def curve_times(trials: pd.DataFrame, ends: pd.DataFrame, curves: pd.DataFrame) -> pd.DataFrame:
    """Return the times of the curves of each combination, by the combination's number.

    Columns: ``epochs`` and ``samples`` of the whole curve; ``eval_s``, the time of its
    evaluations; ``to_target``, epochs to the sweep's target; ``efficiency``, goodput over speed.
    A combination without evaluations has the sweep's median time of one.

    Args:
        trials: From :func:`with_keys`.
        ends: The last rows of the curves, from ``curve_ends``.
        curves: One row a report; without any the samples follow from the rates.
    """
    rows = trials[(trials["stage"] == Stage.TRAIN) & trials["state"].isin(ENDED)]
    each = numbers_of(rows, "metrics.eval_s") / numbers_of(rows, "metrics.epochs")
    per_epoch = each.groupby(rows[COMBINATION]).median()
    warm_up_s = one_offs(ends)[WARM_UP].fillna(0.0).set_axis(ends.index)
    epochs = numbers_of(ends, "metrics.epochs")
    rows = pd.DataFrame(
        {
            COMBINATION: ends[COMBINATION],
            "epochs": epochs,
            "samples": epochs * _samples_per_epoch(ends, curves),
            "to_target": (numbers_of(ends, TIME) - warm_up_s) / numbers_of(ends, _EPOCH_S),
            "efficiency": numbers_of(ends, GOODPUT) / numbers_of(ends, SPEED),
        }
    )
    of_combination = rows.groupby(COMBINATION, sort=False).mean()
    own = per_epoch.reindex(of_combination.index).fillna(per_epoch.median())
    return of_combination.assign(eval_s=own * of_combination["epochs"])


def _samples_per_epoch(ends: pd.DataFrame, curves: pd.DataFrame) -> "pd.Series[float]":
    """Return the samples of an epoch of each row: as reported, or by its own rate."""
    speed = numbers_of(ends, SPEED)
    by_rate = (numbers_of(ends, _EPOCH_S) - epoch_starts(ends)) * speed
    if curves.empty:
        return by_rate
    last = curves.groupby("trial_id")[["samples", "epoch"]].max().astype("float64")
    reported = last["samples"] / last["epoch"].where(last["epoch"] > 0)
    return ends["trial_id"].map(reported).astype("float64").fillna(by_rate)


def with_times(configs: pd.DataFrame) -> pd.DataFrame:
    """Return the configs with composed times, and without the columns that they are made of.

    Args:
        configs: With the columns of :func:`curve_times`, and of each config's setting the speed,
            the start of an epoch, and the columns of :func:`one_offs`.
    """
    speed, epochs = numbers_of(configs, SPEED), configs["epochs"]
    epoch_s = epoch_starts(configs) + configs["samples"] / epochs.where(epochs > 0) / speed
    warm_up_s = configs[WARM_UP].fillna(0.0)
    train_s = warm_up_s + epochs * epoch_s
    times = {
        "metrics.epoch_s": epoch_s,
        "metrics.train_s": train_s,
        "metrics.eval_s": configs["eval_s"],
        "metrics.time_to_accuracy_s": warm_up_s + configs["to_target"] * epoch_s,
        GOODPUT: configs["efficiency"] * speed,
        WALL: configs[SETUP] + train_s + configs["eval_s"].fillna(0.0),
    }
    known = {name: value for name, value in times.items() if name in configs or name == WALL}
    return configs.assign(**known).drop(columns=list(_PARTS))
