"""Time to accuracy and goodput: what a config's speed is worth for learning."""

from __future__ import annotations

from typing import Final

import numpy as np
import pandas as pd

from orchestrator.analysis.api.checks import Source, checked_configs, require, require_knobs, run_of
from orchestrator.analysis.columns import TableError, params_of, rows_of
from orchestrator.analysis.comparable import GROUP
from orchestrator.analysis.composition.time_to_target import composed_time_to_accuracy
from orchestrator.analysis.rule import limit_of
from orchestrator.analysis.statistics.time_to_accuracy import (
    accuracy_asked,
    samples_to_accuracy,
)
from orchestrator.analysis.statistics.time_to_accuracy import (
    time_to_accuracy as times_of,
)
from orchestrator.analysis.tables.run_tables import RunTables
from orchestrator.metrics import is_accuracy
from orchestrator.trial import Stage

_CURVES: Final = "curve_ids"
"""Column of composed configs: the trials that their accuracy is of."""


def time_to_accuracy(
    source: Source, target: float | None = None, *, run: RunTables | None = None
) -> pd.DataFrame:
    """Return the training time that each config took to an accuracy.

    Time counts in training epochs, evaluation left out, where the reports say it; otherwise from
    the start of the process. It is known as finely as accuracy was evaluated. Of a composed config
    the time is that of its curve's epochs at its own speed.

    Args:
        source: A run; or a frame of its configs, with ``run``.
        target: The accuracy to reach, of the accuracy that the sweep's rule names. None: the
            sweep's own target, or the least accuracy that its rule lets a config have.
        run: The run that a frame is of: the curves are its own.

    Returns:
        One row a config, the soonest first: ``params.*``; ``group``; ``target``; ``reached_s``,
        when half of its runs were there, NaN where fewer ever were; ``num_reached`` of
        ``num_runs``; ``trained_s``, the median of how long they trained; the accuracy at the end.

    Raises:
        TableError: A frame came without its run or is of trials; no accuracy was reported; the
            target is no fraction of 1 where the accuracy is one.

    Source: time to accuracy as MLPerf Training counts it (Mattson et al., MLSys 2020).
    """
    frame, tables, value = _asked(source, target, run, "time_to_accuracy")
    rule, curves = tables.rule, tables.whole_curves
    if _CURVES in frame.columns:
        times = composed_time_to_accuracy(frame, tables.grouped, curves, rule, target=value)
    else:
        times = times_of(frame, curves, rule, target=value)
    columns = ["reached_s", "num_reached", "num_runs", "trained_s"]
    found = pd.DataFrame(columns=columns) if times is None else times.configs[columns]
    found = found.reindex(frame.index)
    num_runs = frame[_CURVES if _CURVES in frame.columns else "timed_ids"].map(len)
    table = frame[[*params_of(frame), GROUP]].assign(
        target=value,
        reached_s=found["reached_s"].astype("float64"),
        num_reached=found["num_reached"].fillna(0).astype("int64"),
        num_runs=found["num_runs"].fillna(num_runs).astype("int64"),
        trained_s=found["trained_s"].astype("float64"),
        **{rule.accuracy_column: frame[rule.accuracy_column]},
    )
    return table.sort_values("reached_s", kind="stable").reset_index(drop=True)


def goodput(
    source: Source, target: float | None = None, *, run: RunTables | None = None
) -> pd.DataFrame:
    """Return each config's speed times its statistical efficiency.

    The efficiency is known from the curves: the samples that the baseline takes to the target over
    those that the config takes. So goodput is in the baseline's samples a second.

    Args:
        source: A run; or a frame of its configs, with ``run``.
        target: As in :func:`time_to_accuracy`.
        run: The run that a frame is of.

    Returns:
        One row a config, the best first: ``params.*``; ``group``; ``target``;
        ``metrics.samples_per_s``; ``samples_to_target`` in training samples; ``efficiency``;
        ``metrics.goodput`` in samples a second; ``num_reached`` of ``num_curves``;
        ``is_reference``, the config whose efficiency is 1: the baseline, or where that was never
        there the first config that was. NaN where a config was never there.

    Raises:
        TableError: As :func:`time_to_accuracy`.

    Source: Qiao et al., "Pollux: Co-adaptive Cluster Scheduling for Goodput-Optimized Deep
    Learning", OSDI 2021.
    """
    frame, tables, value = _asked(source, target, run, "goodput")
    require(frame, ["metrics.samples_per_s"], "goodput")
    reached = _samples(frame, tables, value)
    reference = _reference(reached["samples"], frame, tables)
    efficiency = reached["samples"].get(reference, np.nan) / reached["samples"]
    speed = frame["metrics.samples_per_s"]
    table = frame[[*params_of(frame), GROUP]].assign(
        target=value,
        **{"metrics.samples_per_s": speed},
        samples_to_target=reached["samples"],
        efficiency=efficiency,
        **{"metrics.goodput": speed * efficiency},
        num_reached=reached["num_reached"],
        num_curves=reached["num_curves"],
        is_reference=frame.index == reference,
    )
    table = table.sort_values("metrics.goodput", ascending=False, kind="stable")
    return table.reset_index(drop=True)


def _asked(
    source: Source, target: float | None, run: RunTables | None, function: str
) -> tuple[pd.DataFrame, RunTables, float]:
    """Return the configs, their run and the accuracy to reach."""
    tables = run_of(source, run, function)
    column, metric = tables.rule.accuracy_column, tables.rule.accuracy.metric
    frame = tables.configs if isinstance(source, RunTables) else checked_configs(source, function)
    require_knobs(frame, tables.sweep.knobs, function)
    require(frame, [GROUP, "timed_ids", column], function)
    if column not in tables.whole_curves.columns:
        raise TableError(f"{function}: no report of the run has the accuracy {metric}")
    if target is None:
        return frame, tables, _own_target(frame, tables)
    if is_accuracy(metric) and not 0 <= target <= 1:
        raise TableError(
            f"{function}: target={target:g}, but {metric} is a fraction of 1", "target=0.9, say"
        )
    return frame, tables, float(target)


def _own_target(frame: pd.DataFrame, tables: RunTables) -> float:
    """Return the sweep's target of its accuracy; without one what its rule asks for."""
    rule, curves = tables.rule, tables.whole_curves
    if rule.target is None or rule.target.metric != rule.accuracy.metric:
        return accuracy_asked(frame, rule)
    searched = tables.trials.loc[tables.trials["stage"] == Stage.TRAIN, "trial_id"]
    return limit_of(rule.target, curves[rule.accuracy_column][curves["trial_id"].isin(searched)])


def _samples(frame: pd.DataFrame, tables: RunTables, target: float) -> pd.DataFrame:
    """Return the samples to the target by config; composed ones have those of their curve."""
    if _CURVES not in frame.columns:
        return samples_to_accuracy(frame, tables.whole_curves, tables.rule, target)
    of_curves = frame[~frame[_CURVES].duplicated()]
    of_curves = of_curves.assign(timed_ids=of_curves[_CURVES])
    reached = samples_to_accuracy(of_curves, tables.whole_curves, tables.rule, target)
    return reached.set_axis(of_curves[_CURVES]).reindex(frame[_CURVES]).set_axis(frame.index)


def _reference(samples: pd.Series[float], frame: pd.DataFrame, tables: RunTables) -> object:
    """Return the index of the config that efficiencies are relative to; None without any."""
    known = samples.dropna().index
    own = known[rows_of(frame, tables.sweep.baseline)[known]]
    return next(iter([*own, *known]), None)
