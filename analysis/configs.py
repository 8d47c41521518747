"""Repeats made one: a table of configs from a table of trials."""

from __future__ import annotations

from collections.abc import Collection
from typing import Final

import numpy as np
import pandas as pd

from analysis.columns import flagged, metrics_of, params_of
from analysis.intervals import t_quantile
from orchestrator.trial import Stage, TrialState

OVER_RUNS: Final = "between runs"
"""The interval holds the spread between fresh processes."""
OVER_ONE_RUN: Final = "one run; between-run noise not known"
"""The interval is the run's own, over blocks within it."""

_FIRST = ("device", "cores", "isolation", "data", "tags.bound", "tags.oversubscribed")


def by_config(
    trials: pd.DataFrame,
    *,
    stage: Stage = Stage.TRAIN,
    states: Collection[TrialState] = (TrialState.COMPLETED,),
    speed: str = "samples_per_s",
) -> pd.DataFrame:
    """One row a config, over its runs of one stage.

    Stages are never mixed: ``train`` rows select, ``confirm`` rows support a claim.

    Returns:
        ``params.*`` and: ``metrics.*``, means over the runs (of ``speed`` the geometric
        mean); the speed's ``_low`` and ``_high``, with two runs or more a t interval
        over the runs, with one the interval within it;
        ``interval``, which of the two; ``num_runs``; ``num_lost``, runs of the stage
        that are infeasible or failed; ``trial_ids``; ``contaminated``, whether any run
        was; and ``device, cores, isolation, data, tags.bound`` of the first run.
        In the order in which the configs first appear.
    """
    of_stage = trials[trials["stage"] == stage]
    rows = of_stage[of_stage["state"].isin([str(state) for state in states])]
    keys = params_of(trials)
    if rows.empty or not keys:
        return _empty(trials)
    groups = rows.groupby(keys, sort=False, dropna=False)
    configs = groups[metrics_of(trials)].mean()
    configs["num_runs"] = groups.size()
    configs["num_lost"] = _num_lost(of_stage, keys).reindex(configs.index, fill_value=0)
    configs["trial_ids"] = groups["trial_id"].agg(tuple)
    configs["contaminated"] = _any_contaminated(rows, keys)
    first = [column for column in _FIRST if column in rows.columns]
    configs = configs.join(groups[first].first()).reset_index()
    if f"metrics.{speed}" not in configs.columns:
        return configs.assign(interval=OVER_ONE_RUN)
    return _with_speed_interval(configs, rows, speed)


def _empty(trials: pd.DataFrame) -> pd.DataFrame:
    configs = trials.iloc[:0][[*params_of(trials), *metrics_of(trials)]].copy()
    for column in ("num_runs", "num_lost", "trial_ids", "contaminated", "interval", *_FIRST):
        configs[column] = pd.Series(dtype="object")
    return configs


def _num_lost(of_stage: pd.DataFrame, keys: list[str]) -> pd.Series:
    lost = of_stage[of_stage["state"].isin([TrialState.INFEASIBLE, TrialState.FAILED])]
    return lost.groupby(keys, sort=False, dropna=False).size()


def _any_contaminated(rows: pd.DataFrame, keys: list[str]) -> pd.Series:
    if "tags.contaminated" not in rows.columns:
        return rows.groupby(keys, sort=False, dropna=False).size() < 0
    marked = rows.assign(contaminated=flagged(rows["tags.contaminated"]))
    return marked.groupby(keys, sort=False, dropna=False)["contaminated"].any()


def _with_speed_interval(configs: pd.DataFrame, rows: pd.DataFrame, speed: str) -> pd.DataFrame:
    """Puts the interval between runs where there are two runs or more."""
    name = f"metrics.{speed}"
    low, high = f"{name}_low", f"{name}_high"
    for end in (low, high):
        if end not in configs.columns:
            configs[end] = np.nan
    logs = rows.assign(log=np.log(rows[name].where(rows[name] > 0)))
    spread = logs.groupby(params_of(rows), sort=False, dropna=False)["log"]
    count, centre = spread.count().to_numpy(), spread.mean().to_numpy()
    repeated = count > 1
    error = spread.std().to_numpy(dtype=np.float64)[repeated] / np.sqrt(count[repeated])
    half = t_quantile(count[repeated].astype(np.float64) - 1) * error
    configs[name] = np.exp(centre)
    configs.loc[repeated, low] = np.exp(centre[repeated] - half)
    configs.loc[repeated, high] = np.exp(centre[repeated] + half)
    configs["interval"] = np.where(repeated, OVER_RUNS, OVER_ONE_RUN)
    return configs
