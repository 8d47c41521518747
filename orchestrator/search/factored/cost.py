"""The cheaper of two configs that are as fast as each other."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

from orchestrator.kernel.problem import SearchProblem
from orchestrator.rules import COST_KNOBS


def cost(
    problem: SearchProblem, config: Mapping[str, Any], metrics: Mapping[str, float]
) -> tuple[float, ...]:
    """Return what a config takes of the machine, to be compared as tuples.

    It orders configs as the recommendation does (``analysis.recommendation.cost``). By the sweep's
    own ``costs`` where it has any: knobs, and figures to two digits. Otherwise a GPU; the knobs of
    :data:`~orchestrator.rules.COST_KNOBS`, workers times ranks; the memory to a tenth of a GiB. A
    figure that is not known counts as infinite. At last by the number of knobs not at the
    baseline's values.
    """
    num_changed = float(sum(config[knob] != value for knob, value in problem.baseline.items()))
    if problem.costs:
        return *(_own(config, metrics, name) for name in problem.costs), num_changed
    ranks = max(_number(config.get("ranks")), 1.0)
    taken = {name: _taken(config, name) for name in COST_KNOBS}
    for name in ("num_workers", "workers"):
        taken[name] *= ranks
    on_gpu = float(config.get("device", "cpu") != "cpu")
    memory = [round(_figure(metrics, f"peak_{kind}_gib"), 1) for kind in ("gpu", "rss")]
    return on_gpu, *taken.values(), *memory, num_changed


def _own(config: Mapping[str, Any], metrics: Mapping[str, float], name: str) -> float:
    if name in config:
        return _taken(config, name)
    # Less than a hundredth of a figure is no reason to prefer a config.
    return float(f"{_figure(metrics, name):.2g}")


def _figure(metrics: Mapping[str, float], name: str) -> float:
    figure = metrics.get(name, math.nan)
    return math.inf if math.isnan(figure) else figure


def _taken(config: Mapping[str, Any], name: str) -> float:
    number = _number(config.get(name))
    # 0 threads are the library's own choice: all the cores there are.
    return math.inf if name == "threads" and name in config and not number else number


def _number(value: object) -> float:
    is_number = isinstance(value, int | float) and not isinstance(value, bool)
    return float(value) if is_number else 0.0  # type: ignore[arg-type]
