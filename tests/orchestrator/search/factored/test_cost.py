"""What is cheap to a factored search is what the recommendation takes for cheap."""

from __future__ import annotations

import itertools
import math
from dataclasses import replace
from typing import Any

import pytest

from orchestrator.analysis.recommendation.cost import order_by_cost
from orchestrator.search.factored.cost import cost
from tests.orchestrator.analysis.made_runs import MadeRun, config
from tests.orchestrator.search.factored.simulated import problem


@pytest.mark.parametrize("costs", [(), ("peak_rss_gib", "threads"), ("threads",), ("num_workers",)])
def test_configs_are_ordered_as_the_recommendation_orders_them(costs: tuple[str, ...]) -> None:
    knobs: dict[str, tuple[Any, ...]] = {
        "threads": (0, 1), "ranks": (1, 2), "num_workers": (0, 2), "device": ("cpu", "cuda"),
    }  # fmt: skip
    run, found = MadeRun(), []
    here = replace(problem(), costs=costs, baseline={"threads": 0, "ranks": 1, "num_workers": 0})
    for number, values in enumerate(itertools.product(*knobs.values())):
        given = dict(zip(knobs, values, strict=True))
        device = given.pop("device")
        memory = math.nan if number % 5 == 0 else 1.0 + 0.002 * number
        run.add(config(**given), device=device, cores=4, **{"metrics.peak_rss_gib": memory})
        metrics = {} if number % 10 == 0 else {"peak_rss_gib": memory}
        found.append(cost(here, {**given, "device": device}, metrics))
    rule = replace(run.tables.rule, costs=costs)
    order = order_by_cost(run.trials, rule, run.record)
    assert sorted(range(len(found)), key=found.__getitem__) == order
