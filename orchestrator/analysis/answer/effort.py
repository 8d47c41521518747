"""Costs of a search, and savings by its answer."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any, Final

import pandas as pd

from orchestrator.analysis.columns import rows_of
from orchestrator.analysis.comparable import GROUP
from orchestrator.analysis.recommendation.speedup import Speedup
from orchestrator.analysis.tables.run_tables import RunTables
from orchestrator.trial import Stage, TrialState

_EPOCH: Final = "metrics.epoch_s"
_MEMORY: Final = ("peak_rss_gib", "peak_gpu_gib")


def effort_of(
    tables: RunTables, config: Mapping[str, Any] | None, speedup: Speedup | None
) -> dict[str, float]:
    """Return the cost of a run by name, each figure where it is known.

    Returns:
        ``search_s``, wall time of all trials; ``search_core_hours``; ``saved_s_per_epoch``, of
        the baseline's epoch by the speed-up where that leads; ``epochs_to_pay``, until ``search_s``
        is saved; ``peak_rss_gib`` and ``peak_gpu_gib`` of the config, and ``baseline_*`` of these.
    """
    costs = _search(tables.trials)
    if config is None:
        return costs
    saved = _saved_s(tables, speedup)
    if saved is not None:
        costs["saved_s_per_epoch"] = saved
        if saved > 0 and "search_s" in costs:
            costs["epochs_to_pay"] = costs["search_s"] / saved
    for start, which in (("", config), ("baseline_", tables.sweep.baseline)):
        for name in _MEMORY:
            peak = _mean(tables, which, f"metrics.{name}")
            if peak:
                costs[f"{start}{name}"] = peak
    return costs


def _search(trials: pd.DataFrame) -> dict[str, float]:
    if "wall_s" not in trials.columns:
        return {}
    walls = pd.to_numeric(trials["wall_s"], errors="coerce")
    if walls.isna().all():
        return {}
    costs = {"search_s": float(walls.sum())}
    core_s = walls * pd.to_numeric(trials.get("cores", math.nan), errors="coerce")
    if core_s.notna().any():
        costs["search_core_hours"] = float(core_s.sum() / 3600)
    return costs


def _saved_s(tables: RunTables, speedup: Speedup | None) -> float | None:
    if speedup is None or not speedup.leads or speedup.ratio is None:
        return None
    if tables.rule.speed.metric not in ("samples_per_s", "epoch_s"):
        return None
    epoch_s = _mean(tables, tables.sweep.baseline, _EPOCH)
    return None if epoch_s is None else epoch_s * (1 - 1 / speedup.ratio)


def _mean(tables: RunTables, config: Mapping[str, Any], column: str) -> float | None:
    """Return the mean over the confirm runs of a config, or over its searching runs."""
    rows = tables.grouped
    if column not in rows.columns:
        return None
    rows = rows[(rows["state"] == TrialState.COMPLETED) & (rows[GROUP] == tables.main_group)]
    done = rows[rows_of(rows, config)]
    for stage in (Stage.CONFIRM, Stage.TRAIN, Stage.PROBE):
        known = done.loc[done["stage"] == stage, column].dropna()
        if len(known):
            return float(known.mean())
    return None
