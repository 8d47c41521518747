"""A table of configs from a table of trials: repeats combined; gains of configs by ceilings."""

import math
from collections.abc import Collection
from itertools import pairwise
from typing import Any, Final, NamedTuple

import numpy as np
import pandas as pd

from orchestrator.analysis.columns import metrics_of, params_of
from orchestrator.analysis.comparable import ALL, GROUP
from orchestrator.analysis.rule import SPEED
from orchestrator.analysis.statistics import pooling
from orchestrator.analysis.statistics.curves import last_of_curves
from orchestrator.analysis.statistics.intervals import t_quantile
from orchestrator.metric_table import OF_THE_TARGET, TOTALS
from orchestrator.metrics import FIRST_LOSS, is_learned
from orchestrator.trial import LOAD, Stage, TrialState

_FIRST = (
    "device", "cores", "isolation", "data", "tags.bound", "tags.oversubscribed", "tags.idle",
    "tags.rate",
)  # fmt: skip
OF_SPEED_RUNS: Final = (FIRST_LOSS, "epochs", "steps")
"""Figures of learning that a run of speed alone also has."""

_EVALUATED: Final = "evaluated"

LOADER: Final = "metrics.loader_only_samples_per_s"
COMPUTE: Final = "metrics.compute_only_samples_per_s"

_GAIN: Final = "metrics.gain"


def by_config(
    trials: pd.DataFrame,
    *,
    stage: Stage = Stage.TRAIN,
    states: Collection[TrialState] = (TrialState.COMPLETED,),
    speed: str = "samples_per_s",
) -> pd.DataFrame:
    """Return one row a config, over its runs of one stage.

    Stages are never mixed: ``train`` rows select, ``confirm`` rows support a claim. The spread
    between runs alone may be estimated from both (:mod:`orchestrator.analysis.statistics.pooling`).
    Rows with a ``group`` (:mod:`orchestrator.analysis.comparable`) are combined within their group.
    Times, rates and memory are means over the clean runs of the group if it has any. A figure of
    what was learned (:func:`~orchestrator.metrics.is_learned`) is the mean over all runs of the
    config, in other groups too. If a curve was paused and resumed, its last run counts. In
    the confirm stage runs that shared a round with another config come first.

    Returns:
        ``params.*``, ``group`` and: ``metrics.*``, means over the runs (for ``speed`` the geometric
        mean, if all are above 0); the speed's ``_low`` and ``_high``, a t interval with the
        pooled spread between runs, or the interval within the run if nothing was repeated;
        ``interval``, which of the two; ``variance`` of the mean log speed and its degrees of
        freedom ``df``, NaN if nothing was repeated; ``num_runs``, the runs for speeds, with their
        ``timed_ids``; ``num_all_runs``, the runs for accuracies, without runs of speed alone;
        ``num_left_out``, contaminated runs left out of speeds; ``num_lost``, runs of the stage
        that are infeasible or failed; ``trial_ids`` of all that ran in the group; ``contaminated``,
        true if the runs for speeds are; and ``device, cores, isolation, data, tags.bound``
        of the first run. The configs are in the order of their first appearance.
    """
    ids = pooling.config_ids(trials)
    of_stage = trials.assign(**{_EVALUATED: _are_evaluated(trials)})[trials["stage"] == stage]
    rows = of_stage[of_stage["state"].isin(states)]
    rows = _without_partial(rows[last_of_curves(rows)], ids)
    groups = rows.groupby(ids, sort=False)
    beside = pd.Series(True, index=rows.index)
    if stage.is_final:  # the test run shares no round
        beside = pooling.shared_a_round(of_stage)[rows.index]
    timed = rows[pooling.preferred(beside, [ids])]
    clean = timed[pooling.counting(timed, [ids])]
    of_clean = clean.groupby(ids, sort=False)
    configs = groups[params_of(trials)].first()
    configs[GROUP] = groups[GROUP].first() if GROUP in rows.columns else ALL
    metrics = metrics_of(trials)
    means, are_all = of_clean[metrics].mean(), len(clean) == len(rows)
    configs = configs.join(means if are_all else means.fillna(groups[metrics].mean()))
    are_good = beside if beside.all() else beside & rows[_EVALUATED]
    configs = _with_learned(configs, rows, ids, speed, are_good)
    configs["num_runs"] = of_clean.size()
    configs["num_left_out"] = timed.groupby(ids, sort=False).size() - of_clean.size()
    lost = of_stage[of_stage["state"].isin([TrialState.INFEASIBLE, TrialState.FAILED])]
    configs["num_lost"] = ids[lost.index].value_counts().reindex(configs.index, fill_value=0)
    configs["trial_ids"], configs["timed_ids"] = _trial_ids(rows, ids), _trial_ids(clean, ids)
    configs[LOAD] = pooling.disturbed(clean).groupby(ids, sort=False).any()
    configs = configs.join(groups[[c for c in _FIRST if c in rows.columns]].first())
    cells = pooling.speed_cells(clean, [ids], speed).reindex(configs.index)
    cells = cells.assign(config=cells.index.to_series(), **{GROUP: configs[GROUP]})
    spread = pooling.spread_of(cells, trials, stage, speed)
    configs = _with_interval(configs, cells, spread, speed)
    return configs.reset_index(drop=True)


def _with_learned(
    configs: pd.DataFrame,
    rows: pd.DataFrame,
    ids: "pd.Series[int]",
    speed: str,
    are_good: "pd.Series[bool]",
) -> pd.DataFrame:
    """Add the figures of what was learned, and ``num_all_runs``, over the runs of all groups.

    If a config has good runs, these count; a figure that these lack is over all runs.
    """
    keys = ids
    if GROUP in rows.columns and rows[GROUP].nunique() > 1:
        keys = pooling.config_ids(rows.drop(columns=GROUP))
    learned = [
        column
        for column in metrics_of(rows)
        if is_learned(name := column.removeprefix("metrics.")) and not name.startswith(speed)
    ]
    of_config = keys.groupby(ids, sort=False).first()
    of_good = rows[pooling.preferred(are_good, [keys])].groupby(keys, sort=False)
    means = of_good[learned].mean().fillna(rows.groupby(keys, sort=False)[learned].mean())
    means = means.assign(num_all_runs=of_good[_EVALUATED].sum())
    return configs.assign(
        **{column: of_config.map(means[column]).reindex(configs.index) for column in means.columns}
    )


def _are_evaluated(trials: pd.DataFrame) -> "pd.Series[bool]":
    """Return True for runs that report what was learned: all, if no run of any stage does."""
    names = [column.removeprefix("metrics.") for column in metrics_of(trials)]
    learned = [f"metrics.{n}" for n in names if is_learned(n) and n not in OF_SPEED_RUNS]
    are_evaluated = trials[learned].notna().any(axis=1)
    return are_evaluated | (not are_evaluated.any())


def _without_partial(rows: pd.DataFrame, ids: "pd.Series[int]") -> pd.DataFrame:
    """Return the rows without figures that a part of the runs would misrepresent.

    These are the :data:`TOTALS` of runs of speed alone, which end early, and figures to a target
    that fewer than half of a config's runs reached: their mean would show the lucky runs alone.
    """
    num_runs = rows[_EVALUATED].groupby(ids, sort=False).transform("sum")
    figures = {}
    for column in metrics_of(rows):
        if (name := column.removeprefix("metrics.")) in TOTALS:
            cells = rows[column].where(rows[_EVALUATED])
            if name in OF_THE_TARGET:
                num_there = cells.notna().groupby(ids, sort=False).transform("sum")
                cells = cells.where(2 * num_there >= num_runs)
            figures[column] = cells
    return rows.assign(**figures)


def _trial_ids(rows: pd.DataFrame, ids: "pd.Series[int]") -> "pd.Series[Any]":
    """Return the trials of each config; a group-by with Python's tuples takes ten times as long."""
    own = ids[rows.index].sort_values(kind="stable")
    configs, starts = np.unique(own, return_index=True)
    names = rows.loc[own.index, "trial_id"].tolist()
    parts = [tuple(names[start:end]) for start, end in pairwise([*starts, len(names)])]
    return pd.Series(parts, index=configs, dtype="object")


def _with_interval(
    configs: pd.DataFrame, cells: pd.DataFrame, of_run: pd.DataFrame, speed: str
) -> pd.DataFrame:
    """Add the geometric mean, the spread of it, and its interval between runs if that is known.

    If not all figures are above 0, the mean is arithmetic and has no interval.
    """
    name, has_no_log = f"metrics.{speed}", cells["num"] < cells["known"]
    spread = of_run.assign(variance=of_run["variance"] / cells["num"])
    half = t_quantile(spread["df"].to_numpy()) * np.sqrt(spread["variance"])
    means = np.exp(cells["mean"]).mask(has_no_log, configs[name])
    if is_learned(speed):  # runs under all conditions, if these have none
        means = means.fillna(configs[name])
    ends = {"low": np.exp(cells["mean"] - half), "high": np.exp(cells["mean"] + half)}
    columns = {
        f"{name}_{end}": values.fillna(configs.get(f"{name}_within_{end}", np.nan)).mask(has_no_log)
        for end, values in ends.items()
    }
    return configs.assign(**{name: means}, **columns).join(spread)


class Gain(NamedTuple):
    """Speed of a config if a part were free (the slower one, loader or model), over its speed.

    The geometric mean over runs with its 95 % interval, NaN if no config was repeated.
    """

    part: str
    ratio: float
    low: float = math.nan
    high: float = math.nan


def gains_of(trials: pd.DataFrame, configs: pd.DataFrame) -> list[Gain]:
    """Return the gain of each of ``configs``, in their order.

    A ceiling over the speed is taken trial by trial: both were measured in one process within
    seconds, so changes of the host between trials affect both.

    Args:
        trials: The trials table.
        configs: Rows made from it (:func:`by_config`) that have both ceilings and a speed.
    """
    has_ceilings = trials[[SPEED, LOADER, COMPUTE]].notna().all(axis=1)
    # Interleaved runs of the confirm stage share their cores, so their ratios vary differently.
    measured = trials[has_ceilings & (trials["stage"] == Stage.TRAIN)]
    ratios = measured[[LOADER, COMPUTE]].max(axis=1) / measured[SPEED]
    by_trial: dict[str, Gain] = {}
    for row in by_config(measured.assign(**{_GAIN: ratios}), speed="gain").to_dict("records"):
        part = "the loader" if row[COMPUTE] > row[LOADER] else "the model"
        gain = Gain(part, *(row[f"{_GAIN}{end}"] for end in ("", "_low", "_high")))
        by_trial |= dict.fromkeys(row["trial_ids"], gain)
    return [
        next(by_trial[trial] for trial in ids if trial in by_trial) for ids in configs["trial_ids"]
    ]
