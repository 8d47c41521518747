"""Cost of a config to the machine: of those that are as fast, the cheapest is recommended."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any, Final

import pandas as pd

from orchestrator.analysis.columns import as_plain, config_of, text_of
from orchestrator.analysis.rule import Rule
from orchestrator.rules import COST_KNOBS
from orchestrator.storage.sweep_record import SweepRecord

_PARTS: Final = ("device", *COST_KNOBS, "gpu", "rss")


def order_by_cost(configs: pd.DataFrame, rule: Rule, sweep: SweepRecord) -> list[int]:
    """Return the positions of the rows, the cheapest first; equals stay in their order."""
    costs = [cost_of(row, rule, sweep) for row in configs.to_dict("records")]
    return sorted(range(len(costs)), key=costs.__getitem__)


def cost_of(row: Mapping[Any, Any], rule: Rule, sweep: SweepRecord) -> tuple[float, ...]:
    """Return what a config costs, the dearest part first, to be compared part by part.

    By the sweep's own ``costs`` where it has any: knobs, and figures to two digits. Otherwise a
    GPU; the knobs of :data:`~orchestrator.rules.COST_KNOBS`, workers times ranks; memory on the GPU
    and of the processes. A figure that is not known counts as infinite. The last part is how many
    knobs differ from the baseline's.
    """
    config = config_of(row, sweep)
    num_changed = sum(config.get(knob) != as_plain(value) for knob, value in sweep.baseline.items())
    if rule.costs:
        return (*(_own(row, name) for name in rule.costs), num_changed)
    ranks = max(_number(row.get("params.ranks")), 1.0)
    taken = {name: _number(row.get(f"params.{name}")) for name in COST_KNOBS}
    for name in ("num_workers", "workers"):
        taken[name] *= ranks
    taken["threads"] = _threads(row)
    on_gpu = float(text_of(row.get("device")) not in ("", "cpu"))
    memory = [_figure(row, f"peak_{kind}_gib") for kind in ("gpu", "rss")]
    # Memory to a tenth of a GiB: less than that is no reason to prefer a config.
    return (on_gpu, *(taken[k] for k in COST_KNOBS), *(round(m, 1) for m in memory), num_changed)


def dearest_difference(
    row: Mapping[Any, Any], other: Mapping[Any, Any], rule: Rule, sweep: SweepRecord
) -> tuple[str, float, float] | None:
    """Return the dearest part that two configs differ in: its name, and what each has of it.

    None where they cost the same, or where that part of one of them is not known. ``device`` is 1
    for a GPU; ``settings`` counts the knobs that differ from the baseline's.
    """
    ours, theirs = (cost_of(each, rule, sweep) for each in (row, other))
    for name, own, its in zip((*(rule.costs or _PARTS), "settings"), ours, theirs, strict=True):
        if own != its:
            return None if math.isinf(own) or math.isinf(its) else (name, own, its)
    return None


def _own(row: Mapping[Any, Any], name: str) -> float:
    if name == "threads":
        return _threads(row)
    if f"params.{name}" in row:
        return _number(row[f"params.{name}"])
    # Less than a hundredth of a figure is no reason to prefer a config.
    return float(f"{_figure(row, name):.2g}")


def _figure(row: Mapping[Any, Any], name: str) -> float:
    """Return a figure; infinite where it is not known, so that no config is taken for it."""
    cell: Any = row.get(f"metrics.{name}")
    figure = pd.to_numeric(cell, errors="coerce")
    return math.inf if figure is None or pd.isna(figure) else float(figure)


def _threads(row: Mapping[Any, Any]) -> float:
    threads = _number(row.get("params.threads"))
    # 0 is the library's own choice: all the cores there are.
    return threads if threads > 0 else _number(row.get("cores"))


def _number(cell: Any) -> float:  # noqa: ANN401 - a cell of any type
    """Return the cell as a number; 0 where it is empty, absent or a word."""
    number = pd.to_numeric(cell, errors="coerce")
    return 0.0 if number is None or pd.isna(number) else float(number)
