"""What is cheap, part by part."""

from __future__ import annotations

import math
from dataclasses import replace
from typing import Any

import pandas as pd
import pytest

from orchestrator.analysis.recommendation.cost import cost_of_row, dearest_difference, order_by_cost
from orchestrator.rules import COST_KNOBS
from tests.orchestrator.analysis.made_runs import MadeRun, config

SWEEP = MadeRun().record
RULE = MadeRun().tables.rule
PARTS = ("device", *COST_KNOBS, "gpu_gib", "rss_gib", "knobs")


def cost(costs: tuple[str, ...] = (), **cells: Any) -> tuple[float, ...]:  # noqa: ANN401
    row = {f"params.{name}": value for name, value in config().items()}
    row |= {"cores": 4, "device": "cpu", "metrics.peak_rss_gib": 1.0} | cells
    return cost_of_row(row, replace(RULE, costs=costs), SWEEP)


@pytest.mark.parametrize(
    ("cells", "part", "value"),
    [
        ({"device": "NVIDIA H100"}, "device", 1),
        ({"params.ranks": 2}, "ranks", 2),
        ({"params.num_workers": 3, "params.ranks": 2}, "num_workers", 6),
        ({"params.threads": 0}, "threads", 4),  # all the cores there are
        ({"params.threads": 2}, "threads", 2),
        ({"metrics.peak_gpu_gib": 3.14}, "gpu_gib", 3.1),
        ({"metrics.peak_rss_gib": math.nan}, "rss_gib", math.inf),
        ({"params.lr": 0.5, "params.batch_size": 7}, "knobs", 2),
    ],
)
def test_each_part(cells: dict[str, Any], part: str, value: float) -> None:
    assert cost(**cells)[PARTS.index(part)] == value


def test_the_cheapest_comes_first_and_equals_stay_in_their_order() -> None:
    run = MadeRun()
    for workers in (3, 1, 3, 0):
        run.add(config(num_workers=workers), **{"metrics.peak_rss_gib": 1.0})
    assert order_by_cost(pd.DataFrame(run.rows), RULE, SWEEP) == [3, 1, 0, 2]


@pytest.mark.parametrize(
    ("ours", "theirs", "part"),
    [
        ({"params.num_workers": 0}, {"params.num_workers": 8}, ("num_workers", 0, 8)),
        ({}, {"device": "NVIDIA H100"}, ("device", 0, 1)),
        ({}, {"metrics.peak_rss_gib": 2.0}, ("rss", 1, 2)),
        ({"params.lr": 0.5}, {"params.lr": 0.5, "params.batch_size": 7}, ("settings", 1, 2)),
        ({}, {}, None),
    ],
)
def test_the_dearest_part_that_differs(
    ours: dict[str, Any], theirs: dict[str, Any], part: tuple[str, float, float] | None
) -> None:
    row = {f"params.{name}": value for name, value in config().items()}
    row |= {"cores": 4, "device": "cpu", "metrics.peak_rss_gib": 1.0}
    assert dearest_difference(row | ours, row | theirs, RULE, SWEEP) == part
