"""The worth of a speed: over one knob, to an accuracy, and as goodput."""

from __future__ import annotations

from typing import Final

import numpy as np
import pandas as pd

from orchestrator.analysis.columns import TableError, params_of
from orchestrator.analysis.comparable import GROUP
from orchestrator.analysis.rule import limit_of
from orchestrator.analysis.statistics.by_config import COMPUTE, LOADER, SPEED
from orchestrator.analysis.statistics.curves import accuracy_asked
from orchestrator.analysis.statistics.intervals import t_quantile
from orchestrator.analysis.tables.checks import require
from orchestrator.analysis.tables.run_tables import RunTables
from orchestrator.errors import nearest
from orchestrator.metrics import is_accuracy
from orchestrator.trial import Stage

FAMILY: Final = "family"
"""Column that numbers the configs which differ in the knob alone."""


def scaling(run: RunTables, knob: str = "num_workers") -> pd.DataFrame:
    """Return the speeds of configs that differ in one knob alone, over that knob.

    Args:
        run: A run.
        knob: A knob of numbers.

    Returns:
        One row a config and ``family``, in the order of the knob: ``params.*``, the knob first;
        ``group``; ``metrics.samples_per_s`` with its interval; ``speedup`` over the smallest value
        of the family, with the ends ``speedup_low`` and ``speedup_high`` of its 95 % interval, NaN
        if nothing was repeated or the sweep's first objective is another figure;
        ``efficiency``, the speed-up over the ratio of the values, NaN if the smallest is 0;
        ``ceiling_samples_per_s``, the slower of loader alone and model alone;
        ``num_runs``;
        ``interval``, what the measured interval is over.

    Raises:
        TableError: The knob is unknown, is no number, or no two configs differ in it alone; or no
            trial has a speed.

    Source: strong scaling, speed-up and efficiency (Amdahl, "Validity of the single processor
    approach", 1967).
    """
    name = knob.removeprefix("params.")
    if name not in run.sweep.knobs:
        raise TableError(
            f"scaling: {run.sweep.trainable or 'the trainable'} has no knob {name!r}"
            f"{nearest(name, run.sweep.knobs)}",
            f"knobs: {', '.join(run.sweep.knobs)}",
        )
    column = f"params.{name}"
    require(run.configs, [SPEED], "scaling")
    frame = run.configs[run.configs[SPEED].notna()].reset_index(drop=True)
    if run.rule.speed_column != SPEED:  # the spread belongs to another figure
        frame = frame.assign(variance=np.nan)
    rows = _with_speedups(_families(frame, column), column)
    first = [column, *(name for name in params_of(frame) if name != column), FAMILY, GROUP]
    figures = [
        SPEED, f"{SPEED}_low", f"{SPEED}_high", "speedup", "speedup_low", "speedup_high",
        "efficiency", "ceiling_samples_per_s", "num_runs", "interval",
    ]  # fmt: skip
    table = rows.reindex(columns=[*first, *figures])
    return table.sort_values([FAMILY, column]).reset_index(drop=True)


def _families(frame: pd.DataFrame, column: str) -> pd.DataFrame:
    """Return the rows of families of two and more values, by ``family``."""
    if not pd.api.types.is_numeric_dtype(frame[column]) or frame[column].dtype == "boolean":
        raise TableError(f"scaling: {column} is no number, so that nothing scales with it")
    if frame[column].nunique() < 2:
        values = ", ".join(map(str, frame[column].unique())) or "none, since no config completed"
        raise TableError(f"scaling: {column} was not varied; its values: {values}")
    others = [*(name for name in params_of(frame) if name != column), GROUP]
    rows = frame.assign(**{FAMILY: frame.groupby(others, sort=False, dropna=False).ngroup()})
    rows = rows[rows.groupby(FAMILY)[column].transform("nunique") > 1].reset_index(drop=True)
    if rows.empty:
        raise TableError(f"scaling: no two configs differ in {column} alone")
    return rows.assign(**{FAMILY: pd.factorize(rows[FAMILY])[0]})


def _with_speedups(rows: pd.DataFrame, column: str) -> pd.DataFrame:
    """Add ratios to the smallest value of each family, and the slower of the two ceilings."""
    base = rows.loc[rows.groupby(FAMILY)[column].idxmin()].set_index(FAMILY)
    of_base = base.loc[rows[FAMILY]].set_axis(rows.index)
    speedup = rows[SPEED] / of_base[SPEED]
    is_base = rows[column] == of_base[column]
    df = pd.concat([rows["df"], of_base["df"]], axis=1).astype("float64").min(axis=1, skipna=False)
    error = (rows["variance"] + of_base["variance"]).astype("float64") ** 0.5
    half = (error * t_quantile(df.to_numpy())).mask(is_base, 0.0)
    scale = (rows[column] / of_base[column].where(of_base[column] > 0)).astype("float64")
    return rows.assign(
        speedup=speedup,
        speedup_low=speedup * np.exp(-half),
        speedup_high=speedup * np.exp(half),
        efficiency=speedup / scale,
        ceiling_samples_per_s=rows.reindex(columns=[LOADER, COMPUTE]).min(axis=1, skipna=False),
    )


def time_to_accuracy(run: RunTables, target: float | None = None) -> pd.DataFrame:
    """Return the training time in which each config reached an accuracy.

    Time counts in training epochs without evaluation if the reports have it; otherwise from
    the start of the process. It is known as finely as accuracy was evaluated. For a composed config
    it is the time of its curve's epochs at its own speed.

    Args:
        run: A run.
        target: The accuracy to reach, for the accuracy that the sweep's rule names. None: the
            sweep's own target, or the least accuracy that its rule accepts.

    Returns:
        One row a config, the soonest first: ``params.*``; ``group``; ``target``; ``reached_s``,
        the mean over the runs that reached it, NaN if fewer than half did; ``num_reached`` of
        ``num_runs``; ``trained_s``, the median of their training times; the accuracy at the end.

    Raises:
        TableError: No accuracy was reported; the target is no fraction of 1 if the accuracy is one.

    Source: time to accuracy as MLPerf Training counts it (Mattson et al., MLSys 2020).
    """
    target, frame = _target(target, run, "time_to_accuracy"), run.configs
    table = frame[[*params_of(frame), GROUP]].assign(target=target)
    table = table.join(run.times_to(target, frame)).join(frame[run.rule.accuracy_column])
    return table.sort_values("reached_s", kind="stable").reset_index(drop=True)


def goodput(run: RunTables, target: float | None = None) -> pd.DataFrame:
    """Return each config's speed times its statistical efficiency.

    The efficiency is known from the curves: the baseline's samples to the target over the
    config's samples to it. So goodput is in the baseline's samples a second.

    Args:
        run: A run.
        target: As in :func:`time_to_accuracy`.

    Returns:
        One row a config, the best first: ``params.*``; ``group``; ``target``;
        ``metrics.samples_per_s``; ``efficiency``; ``metrics.goodput`` in samples a second. NaN
        if most runs of a config never reached the target.

    Raises:
        TableError: As :func:`time_to_accuracy`.

    Source: Qiao et al., "Pollux: Co-adaptive Cluster Scheduling for Goodput-Optimized Deep
    Learning", OSDI 2021.
    """
    value = _target(target, run, "goodput")
    frame = run.aiming_at(value).configs
    columns = [*params_of(frame), GROUP, SPEED, "metrics.goodput"]
    table = frame.reindex(columns=columns).sort_values(
        "metrics.goodput", ascending=False, kind="stable", ignore_index=True
    )
    return table.assign(target=value, efficiency=table["metrics.goodput"] / table[SPEED])


def _target(target: float | None, tables: RunTables, function: str) -> float:
    """Return the accuracy to reach: without one the sweep's target, or what its rule requires."""
    rule, curves = tables.rule, tables.whole_curves
    metric = rule.accuracy.metric
    if rule.accuracy_column not in curves.columns:
        raise TableError(f"{function}: no report of the run has the accuracy {metric}")
    if target is None:
        if rule.target is None or rule.target.metric != metric:
            return accuracy_asked(tables.configs, rule)
        searched = tables.trials.loc[tables.trials["stage"] == Stage.TRAIN, "trial_id"]
        of_search = curves["trial_id"].isin(searched)
        return limit_of(rule.target, curves.loc[of_search, rule.accuracy_column])
    if is_accuracy(metric) and not 0 <= target <= 1:
        raise TableError(
            f"{function}: target={target:g}, but {metric} is a fraction of 1", "target=0.9, say"
        )
    return float(target)
