"""Learning curves made by several trials, and the time at which each config reached an accuracy.

The trials of one curve have the same ``curve`` cell. A later trial resumes where an earlier one was
paused, or trains from the start if the checkpoint was gone.

A config with fast steps may learn little in each of them: one batch of all samples takes one
step an epoch. So epochs do not compare such configs, and time does (time to accuracy, as
MLPerf Training counts it; Mattson et al., 2020).
"""

from __future__ import annotations

from typing import Any, Final

import numpy as np
import pandas as pd

from orchestrator.analysis.rule import Rule, limit_of
from orchestrator.derived import EXACT

CURVE: Final = "curve"
"""Column of the trials table that names the learning curve of a trial."""
CURVE_IDS: Final = "curve_ids"
"""Column of composed configs: the trials that give their accuracy."""

CLOCK: Final = "metrics.train_s"
"""Time in training epochs: evaluating more often does not make a config slower."""
WHOLE_CLOCK: Final = "elapsed_s"
"""Time since the process began, for trials that report no training time."""

_EPOCH_S: Final = "metrics.epoch_s"


def last_of_curves(rows: pd.DataFrame) -> pd.Series[bool]:
    """Return True for the last of the rows of each curve, in the order of the table.

    Each row without a curve is its own curve.
    """
    if CURVE not in rows.columns:
        return pd.Series(True, index=rows.index)
    return ~rows[CURVE].duplicated(keep="last") | rows[CURVE].isna()


def whole_curves(curves: pd.DataFrame, trials: pd.DataFrame) -> pd.DataFrame:
    """Return the reports; those of one learning curve belong to one trial, the curve's last.

    If another trial continued a trial, its reports count up to the start of the other. The times of
    a report count from the start of the curve.

    Args:
        curves: One row a report.
        trials: The trials, in the order in which they were asked for.
    """
    if CURVE not in trials.columns:
        return curves
    known = trials[trials["trial_id"].isin(curves["trial_id"]) & trials[CURVE].notna()]
    parts = known.loc[known[CURVE].duplicated(keep=False), ["trial_id", CURVE]]
    if parts.empty:
        return curves
    parts = parts.assign(_place=parts.groupby(CURVE, sort=False).cumcount())
    reports = curves.merge(parts, on="trial_id")
    reports["_epoch"] = reports["epoch"].astype("float64")
    begins = reports.groupby([CURVE, "_place"])["_epoch"].min()
    # The least epoch of all later parts: a running minimum from the end.
    later = begins[::-1].groupby(level=CURVE).cummin().groupby(level=CURVE).shift(1)
    reports = reports.join(later.rename("_limit"), on=[CURVE, "_place"])
    kept = reports[~(reports["_epoch"] >= reports["_limit"])]
    kept = kept.sort_values([CURVE, "_place", "_epoch"], kind="stable")
    last_ids = parts.drop_duplicates(CURVE, keep="last").set_index(CURVE)["trial_id"]
    joined = kept.assign(trial_id=kept[CURVE].map(last_ids))[curves.columns]
    others = curves[~curves["trial_id"].isin(parts["trial_id"])]
    return pd.concat([others, joined], ignore_index=True)


def time_to_accuracy(
    configs: pd.DataFrame,
    curves: pd.DataFrame,
    trials: pd.DataFrame,
    rule: Rule,
    *,
    target: float | None = None,
) -> pd.DataFrame | None:
    """Return the times at which each config reached an accuracy, by its learning curves.

    A composed config takes the epochs of its curve at the speed of its setting.

    Args:
        configs: Comparable rows of
        :func:`orchestrator.analysis.statistics.by_config.by_config`, or composed ones.
        curves: One row a report, of whole curves. A time is known as finely as accuracy was
            evaluated.
        trials: The trials of the curves.
        rule: The rule from which the target is taken.
        target: An accuracy in place of the rule's.

    Returns:
        For each config, by the index of the input table: the ``target``, by default the least
        accuracy that the rule accepts; the ``clock``, the column that time is read from;
        ``reached_s``, when half of its runs had a report as good as the target, NaN if fewer ever
        did; ``trained_s``, the median of their training times; ``num_reached`` of ``num_runs``, the
        runs for its speed. Soonest first, then the most accurate. None if no config has a report as
        good as the target; with a ``target`` of the caller, if no config has any report.
    """
    if CURVE_IDS not in configs.columns:
        return _measured_times(configs, curves, rule, target)
    combinations = configs[~configs[CURVE_IDS].duplicated()]
    ids = combinations[CURVE_IDS]
    times = _measured_times(combinations.assign(timed_ids=ids), curves, rule, target)
    if times is None or _EPOCH_S not in trials.columns:
        return None
    epochs_s = trials.set_index("trial_id")[_EPOCH_S]
    own_s = ids.map(lambda of_curve: epochs_s.reindex(list(of_curve)).mean())
    of_curves = times.assign(own_s=own_s, **{CURVE_IDS: ids})
    rows = configs[[CURVE_IDS, _EPOCH_S]].reset_index(names="config")
    rows = rows.merge(of_curves, on=CURVE_IDS, how="inner").set_index("config").rename_axis(None)
    scale = rows[_EPOCH_S] / rows["own_s"]
    scaled = {name: rows[name] * scale for name in ("reached_s", "trained_s")}
    table = rows.assign(**scaled, clock=CLOCK)[times.columns]
    return table.sort_values("reached_s", kind="stable")


def _measured_times(
    configs: pd.DataFrame, curves: pd.DataFrame, rule: Rule, target: float | None
) -> pd.DataFrame | None:
    """Return the times by the reports of the configs' own runs."""
    column = rule.accuracy_column
    if configs.empty or column not in curves.columns or configs[column].isna().all():
        return None
    is_own, target = target is None, accuracy_asked(configs, rule) if target is None else target
    trials: dict[Any, Any] = {
        trial: index for index, ids in configs["timed_ids"].items() for trial in ids
    }
    runs = curves.assign(config=curves["trial_id"].map(trials)).dropna(subset=["config", column])
    if runs.empty:
        return None
    clock = CLOCK if CLOCK in runs and runs[CLOCK].notna().all() else WHOLE_CLOCK
    runs = runs.sort_values(["config", "trial_id", clock], kind="stable")
    is_there = rule.accuracy.sign * (runs[column] - target) >= -EXACT
    runs = runs.assign(there_s=runs[clock].where(is_there, np.inf))
    of_run = runs.groupby(["config", "trial_id"])
    by_run = of_run.agg(reached_s=("there_s", "min"), trained_s=(clock, "max"))
    of_config = by_run.groupby("config")
    reached_s = of_config["reached_s"].quantile(0.5, interpolation="lower")
    if is_own and not np.isfinite(reached_s).any():
        return None
    table = pd.DataFrame(
        {
            "target": target,
            "clock": clock,
            "reached_s": reached_s.where(np.isfinite(reached_s)),
            "trained_s": of_config["trained_s"].median(),
            "num_reached": np.isfinite(by_run["reached_s"]).groupby("config").sum(),
            "num_runs": of_config.size(),
        }
    )
    table = table.assign(_final=rule.accuracy.sign * configs[column].reindex(table.index))
    table = table.sort_values(["reached_s", "_final"], ascending=[True, False], kind="stable")
    return table.drop(columns="_final")


def accuracy_asked(configs: pd.DataFrame, rule: Rule) -> float:
    """Return the least accuracy that a rule accepts; NaN if no config has any."""
    limit = rule.limits(configs).get(rule.accuracy.metric)
    if limit is None or pd.isna(limit):
        return limit_of(rule.accuracy, configs[rule.accuracy_column])
    return limit
