"""Learning curves that several trials make: paused, and gone on with from the checkpoint.

The trials of one curve have the same ``curve`` cell. A later one goes on where an earlier one was
paused, or trains from the start where the checkpoint was gone.
"""

from __future__ import annotations

from typing import Final

import pandas as pd

CURVE: Final = "curve"
"""Column of the trials table that names the learning curve of a trial."""


def last_of_curves(rows: pd.DataFrame) -> pd.Series[bool]:
    """Return True for the last of the rows of each curve, in the order of the table.

    Rows without a curve are curves of their own.
    """
    if CURVE not in rows.columns:
        return pd.Series(True, index=rows.index)
    return ~rows[CURVE].duplicated(keep="last") | rows[CURVE].isna()


def whole_curves(curves: pd.DataFrame, trials: pd.DataFrame) -> pd.DataFrame:
    """Return the reports with those of one learning curve under one trial, the curve's last.

    Of a trial that another one went on from, the reports count up to where that one goes on. Its
    clocks go on as well: a report's times count from the start of the curve.

    Args:
        curves: One row a report.
        trials: The trials, in the order in which they were asked for.
    """
    parts = _parts(curves, trials)
    if parts.empty:
        return curves
    kept = _kept(curves[curves["trial_id"].isin(parts.index)], parts)
    last_ids = parts.reset_index().groupby("curve", sort=False)["trial_id"].last()
    joined = kept.sort_values(["_curve", "_place", "epoch"], kind="stable")
    joined = joined.assign(trial_id=joined["_curve"].map(last_ids))
    others = curves[~curves["trial_id"].isin(parts.index)]
    return pd.concat([others, joined.drop(columns=["_curve", "_place"])], ignore_index=True)


def _parts(curves: pd.DataFrame, trials: pd.DataFrame) -> pd.DataFrame:
    """Return curve and place of each trial, by id, of the curves that several trials made."""
    if CURVE not in trials.columns:
        return pd.DataFrame()
    known = trials[trials["trial_id"].isin(curves["trial_id"]) & trials[CURVE].notna()]
    shared = known[known[CURVE].duplicated(keep=False)]
    places = shared.groupby(CURVE, sort=False).cumcount()
    return pd.DataFrame({"curve": shared[CURVE], "place": places}).set_index(shared["trial_id"])


def _kept(reports: pd.DataFrame, parts: pd.DataFrame) -> pd.DataFrame:
    """Return the reports that no later trial of their curve made again."""
    placed = reports.assign(
        _curve=reports["trial_id"].map(parts["curve"]),
        _place=reports["trial_id"].map(parts["place"]),
    )
    begins = placed.groupby(["_curve", "_place"])["epoch"].min().astype("float64").sort_index()
    # The least epoch of all later parts: a running minimum from the end.
    later = begins[::-1].groupby(level="_curve").cummin()
    later = later.groupby(level="_curve").shift(1)
    limits = later.reindex(pd.MultiIndex.from_frame(placed[["_curve", "_place"]])).to_numpy()
    return placed[~(placed["epoch"].astype("float64").to_numpy() >= limits)]
