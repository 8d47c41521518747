"""Recommended values at the edge of what was tried: the best may lie beyond."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

import pandas as pd

from orchestrator.analysis.tables.run_tables import RunTables
from orchestrator.analysis.wording import short
from orchestrator.storage.sweep_record import KnobRecord
from orchestrator.trial import Stage, TrialState


def at_boundary(tables: RunTables, config: Mapping[str, Any]) -> list[str]:
    """Return a sentence for each knob at the largest or smallest of three values or more.

    Knobs that were drawn from an interval are left out: one of the draws is always the
    largest. So are values that are as small as the knob allows at all.
    """
    trials, sweep = tables.trials, tables.sweep
    trained = trials[(trials["stage"] == Stage.TRAIN) & (trials["state"] == TrialState.COMPLETED)]
    if tables.is_composed:  # settings were tried by probes, not by trainings
        trained = tables.configs
    return [
        sentence
        for name, domain in sweep.space.items()
        if domain.startswith("choice(") and f"params.{name}" in trained.columns
        if (sentence := _sentence(name, config[name], trained, sweep.knobs[name]))
    ]


def _sentence(name: str, value: object, trained: pd.DataFrame, knob: KnobRecord) -> str:
    if isinstance(value, bool) or not isinstance(value, (int, float)):
        return ""
    tried = trained[f"params.{name}"].unique()
    if len(tried) < 3:
        return ""
    if value == max(tried):
        return f"the largest {name} tried, {short(value)}, was chosen: the best may lie beyond it"
    smallest = re.search(r">= (\S+)", knob.allowed)
    if value == min(tried) and not (smallest and value == float(smallest[1])):
        return f"the smallest {name} tried, {short(value)}, was chosen: the best may lie below it"
    return ""
