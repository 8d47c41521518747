"""The cheaper of two configs that are as fast as each other."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from orchestrator.search.base import SearchProblem

COST_KNOBS: Final = ("gpus", "num_gpus", "ranks", "num_workers", "workers", "threads")
"""Knobs that take something of the machine, the dearest first."""


def cost(
    problem: SearchProblem, config: Mapping[str, Any], metrics: Mapping[str, float]
) -> tuple[float, ...]:
    """Return what a config takes of the machine, to be compared as tuples.

    By the sweep's own ``costs`` where it has any. Otherwise by the knobs of :data:`COST_KNOBS`,
    then by the memory to a tenth of a GiB. At last by the number of knobs not at the baseline's
    values.
    """
    num_changed = float(sum(config[knob] != value for knob, value in problem.baseline.items()))
    if problem.costs:
        figures = {**metrics, **config}
        own = [float(figures[n]) if _is_number(figures.get(n)) else 0.0 for n in problem.costs]
        return *own, num_changed
    taken = [float(config[knob]) if _is_number(config.get(knob)) else 0.0 for knob in COST_KNOBS]
    memory = [round(metrics.get(f"peak_{kind}_gib", 0.0), 1) for kind in ("gpu", "rss")]
    return *taken, *memory, num_changed


def _is_number(value: object) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)
