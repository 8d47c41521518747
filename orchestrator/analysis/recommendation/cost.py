"""Cost of a config to the machine: of those that are as fast, the cheapest is recommended."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

import pandas as pd

from orchestrator.analysis.columns import as_plain, config_of, text_of
from orchestrator.analysis.rule import Rule
from orchestrator.rules import cost_of
from orchestrator.storage.sweep_record import SweepRecord


def order_by_cost(configs: pd.DataFrame, rule: Rule, sweep: SweepRecord) -> list[int]:
    """Return the positions of the rows, the cheapest first; equals stay in their order."""
    costs = [cost_of_row(row, rule, sweep) for row in configs.to_dict("records")]
    return sorted(range(len(costs)), key=costs.__getitem__)


def cost_of_row(row: Mapping[Any, Any], rule: Rule, sweep: SweepRecord) -> tuple[float, ...]:
    """Return :func:`~orchestrator.rules.cost_of` the config of a table's row."""
    cores = _figure(row.get("cores"))
    names = (*rule.costs, "peak_gpu_gib", "peak_rss_gib")
    return cost_of(
        config_of(row, sweep),
        {name: _figure(row.get(f"metrics.{name}")) for name in names},
        device=text_of(row.get("device")),
        baseline={knob: as_plain(value) for knob, value in sweep.baseline.items()},
        costs=rule.costs,
        cores=0.0 if math.isnan(cores) else cores,
    )


def _figure(cell: Any) -> float:  # noqa: ANN401 - a cell of any type
    number = pd.to_numeric(cell, errors="coerce")
    return math.nan if number is None or pd.isna(number) else float(number)
