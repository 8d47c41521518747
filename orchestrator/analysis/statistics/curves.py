"""Learning curves made by several trials.

The trials of one curve have the same ``curve`` cell. A later trial resumes where an earlier one was
paused, or trains from the start if the checkpoint was gone.
"""

from typing import Final

import pandas as pd

from orchestrator.analysis.rule import Rule, limit_of

CURVE: Final = "curve"
"""Column of the trials table that names the learning curve of a trial."""

CLOCK: Final = "metrics.train_s"
"""Time in training epochs: evaluating more often does not make a config slower."""
WHOLE_CLOCK: Final = "elapsed_s"
"""Time since the process began, for trials that report no training time."""


def last_of_curves(rows: pd.DataFrame) -> "pd.Series[bool]":
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


def accuracy_asked(configs: pd.DataFrame, rule: Rule) -> float:
    """Return the least accuracy that a rule accepts; NaN if no config has any."""
    limit = rule.limits(configs).get(rule.accuracy.metric)
    if limit is None or pd.isna(limit):
        return limit_of(rule.accuracy, configs[rule.accuracy_column])
    return limit
