"""One class: a model that names it for all samples has learned nothing, however accurate."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from orchestrator.analysis.columns import rows_of, same_config
from orchestrator.analysis.tables.run_tables import RunTables
from orchestrator.analysis.wording import shown
from orchestrator.trial import Stage, TrialState

_CLASSES: Final = "metrics.val_classes_predicted"
_ACCURACY: Final = "val_acc"


def one_class(tables: RunTables, config: Mapping[str, Any]) -> list[str]:
    """Name a config, and the baseline, whose model predicts one class for the whole split."""
    baseline = tables.sweep.baseline
    its = _of_runs(tables, config, "its")
    if same_config(config, baseline):
        return its
    return its + _of_runs(tables, baseline, "the baseline's")


def _of_runs(tables: RunTables, config: Mapping[str, Any], whose: str) -> list[str]:
    trials = tables.trials
    if _CLASSES not in trials.columns:
        return []
    trained = (trials["state"] == TrialState.COMPLETED) & (trials["stage"] != Stage.PROBE)
    known = trials[trained & rows_of(trials, config)].dropna(subset=[_CLASSES])
    runs = known[known[_CLASSES] == 1]
    if runs.empty:
        return []
    of_all = f"{whose} model"
    of_some = f"in {len(runs)} of {whose} {len(known)} runs the model"
    accuracy = shown(_ACCURACY, runs[f"metrics.{_ACCURACY}"].max())
    return [
        f"{of_all if len(runs) == len(known) else of_some} predicts one class for the whole "
        f"validation split: {_ACCURACY} {accuracy} is no more than that class's share of it"
    ]
