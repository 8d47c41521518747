"""The table of configs, composed of settings and combinations."""

from collections.abc import Mapping, Sequence
from typing import Final

import numpy as np
import pandas as pd

from orchestrator.analysis.columns import metrics_of, params_of
from orchestrator.analysis.comparable import GROUP
from orchestrator.analysis.composition import parts
from orchestrator.analysis.rule import SPEED
from orchestrator.analysis.statistics.by_config import by_config
from orchestrator.analysis.statistics.intervals import t_quantile
from orchestrator.analysis.statistics.starts import WALL, one_offs
from orchestrator.metric_table import OF_THE_TARGET
from orchestrator.metrics import Objective, is_learned
from orchestrator.space.knob import Role
from orchestrator.trial import LOAD, Stage, TrialState

COMPOSED: Final = "composed"
"""Column that is True for a config that was not itself both trained and probed."""

_ADDED: Final = (WALL, COMPOSED, "curve_ids")


def compose(
    trials: pd.DataFrame,
    curves: pd.DataFrame,
    *,
    candidates: pd.DataFrame,
    roles: Mapping[str, Role],
    objectives: Sequence[Objective],
    state: TrialState = TrialState.COMPLETED,
) -> pd.DataFrame:
    """Return one row for each config with a known setting and combination, and group.

    Args:
        trials: The trials, with the ``group`` of comparable rows.
        curves: One row a report, of whole curves.
        candidates: The configs that exist: the ``params.`` columns.
        roles: Role of each knob.
        objectives: The sweep's, the speed first; those that were learned get an interval.
        state: How the curves ended that count. A ``stopped`` one gives no final accuracy.

    Returns:
        The columns of :func:`~orchestrator.analysis.statistics.by_config.by_config`, with the runs
        of the speed and the curves of the accuracy counted; ``_low`` and ``_high`` of the accuracy;
        ``wall_s``, the whole time; :data:`COMPOSED`; ``curve_ids``, the trials that the accuracy is
        of. In the order of the candidates.
    """
    keyed, configs = parts.with_keys(trials, candidates, roles)
    speeds = parts.speeds_of(keyed, rate_of(objectives[0]))
    ends = parts.curve_ends(keyed, state, to_target=objectives[0].metric in OF_THE_TARGET)
    if speeds.empty or ends.empty:
        empty = by_config(trials.iloc[:0])
        return empty.assign(**{name: pd.Series(dtype="object") for name in _ADDED})
    metrics = [objective.metric for objective in objectives]
    learned, own = parts.learned_of(ends, metrics), parts.learned_of(ends, metrics, parts.CONFIG)
    of_curves = parts.curve_times(keyed, ends, curves)
    learned_columns = [name for name in metrics_of(speeds) if _is_of_curves(name)]
    speeds = speeds.drop(columns=[*learned_columns, "num_all_runs"])
    once, ids = one_offs(trials), speeds["timed_ids"].explode()
    of_setting = once.reindex(ids).set_axis(ids.index).groupby(level=0).median()
    speeds = speeds.join(of_setting.fillna(once.median()))
    rows = configs.merge(speeds, on=parts.SETTING, how="inner")
    rows = rows.merge(
        learned.join(of_curves), left_on=parts.COMBINATION, right_index=True, how="inner"
    )
    is_own = rows[parts.CONFIG].isin(own.index)  # what was trained itself has its own accuracy
    own = own.reindex(rows[parts.CONFIG]).set_axis(rows.index)
    rows[own.columns] = rows[own.columns].where(~is_own, own)
    missing = [name for name in metrics_of(trials) if name not in rows.columns]
    rows = rows.assign(**dict.fromkeys(missing, np.nan))
    rows = _with_interval(parts.with_times(rows), objectives[0].metric)
    done = keyed[keyed["state"] == TrialState.COMPLETED]
    probed, trained = (
        done.loc[done["stage"] == s, parts.CONFIG] for s in (Stage.PROBE, Stage.TRAIN)
    )
    is_lost = keyed["state"].isin([TrialState.INFEASIBLE, TrialState.FAILED])
    lost = keyed.loc[is_lost & (keyed["stage"] == Stage.TRAIN), parts.COMBINATION].value_counts()
    rows = rows.assign(
        trial_ids=rows["trial_ids"] + rows["curve_ids"],
        num_lost=rows["num_lost"] + rows[parts.COMBINATION].map(lost).fillna(0).astype("int64"),
        **{COMPOSED: ~(rows[parts.CONFIG].isin(probed) & rows[parts.CONFIG].isin(trained))},
    )
    rows = rows.astype({"num_runs": "int64", "num_all_runs": "int64", LOAD: "bool"})
    rows = rows.drop(columns=list(parts.KEYS)).reset_index(drop=True)
    first = [*params_of(rows), GROUP, *metrics_of(rows)]
    return rows[[*first, *(name for name in rows.columns if name not in first)]]


def with_runs(configs: pd.DataFrame, metric: str, speed: Objective) -> pd.DataFrame:
    """Return composed configs with the runs of a figure, and the noise of this figure.

    Added: ``runs``, one number for the same runs; ``mixed``, True for a composed figure of a whole
    training. Other figures than speeds have no ``variance`` and no ``df``.
    """
    is_of_whole = metric in parts.UNTOLD and not is_learned(metric)
    of_all = "trial_ids" if metric in parts.UNTOLD else "timed_ids"
    runs = pd.factorize(configs["curve_ids" if is_learned(metric) else of_all])[0]
    configs = configs.assign(runs=runs, mixed=configs[COMPOSED] & is_of_whole)
    has_noise = metric in (speed.metric, rate_of(speed))
    return configs if has_noise else configs.assign(variance=np.nan, df=np.nan)


def rate_of(speed: Objective) -> str:
    """Return the rate that probes are compared by: the objective, unless that is composed."""
    return SPEED.removeprefix("metrics.") if _is_of_curves(speed.metric) else speed.metric


def _is_of_curves(column: str) -> bool:
    """Return True for a figure of a whole training that no probe has."""
    name = column.removeprefix("metrics.")
    return is_learned(name) or name in parts.UNTOLD


def _with_interval(rows: pd.DataFrame, speed: str) -> pd.DataFrame:
    """Add the interval of a speed that is itself composed, a time or a goodput.

    Its logarithm varies at most as the rate's does, which is part of it.
    """
    if speed not in (*parts.TIMES, "goodput"):
        return rows
    half = t_quantile(rows["df"].to_numpy(dtype=np.float64)) * np.sqrt(rows["variance"])
    centre = rows[f"metrics.{speed}"]
    ends = {"low": centre * np.exp(-half), "high": centre * np.exp(half)}
    return rows.assign(**{f"metrics.{speed}_{end}": values for end, values in ends.items()})
