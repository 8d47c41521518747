"""Speeds of settings: what is dropped, what ties, and how often a faster one is lost."""

from __future__ import annotations

import math
import random
from dataclasses import replace

import pytest

from orchestrator.kernel.problem import Key
from orchestrator.metrics import Objective, at_most, maximize, minimize
from orchestrator.search.factored.goals import Goals
from orchestrator.search.factored.probes import TIES_FROM, looks
from orchestrator.search.factored.speeds import Speeds
from tests.orchestrator.search.playing import completed

A, B, C = ("a",), ("b",), ("c",)
MARGIN = 0.02


def goals(speed: Objective | None = None, *conditions: Objective) -> Goals:
    return Goals(
        speed=speed or maximize("samples_per_s"),
        learned=(),
        tolerances=(),
        conditions=conditions,
        tie_margin=MARGIN,
    )


def known(**rates: list[float]) -> Speeds:
    speeds = Speeds(goals(), num_comparisons=12, level=0.05)
    for name, values in rates.items():
        for rate in values:
            speeds.add((name,), completed(samples_per_s=rate))
    return speeds


def test_a_spread_larger_than_assumed_brings_back_what_was_dropped() -> None:
    speeds = known(a=[1000.0], b=[830.0])
    assert speeds.contenders([A, B]) == [A]
    for rate in (700.0, 1400.0, 800.0):
        speeds.add(A, completed(samples_per_s=rate))
    assert speeds.contenders([A, B]) == [A, B]


def test_a_contaminated_run_counts_only_until_there_is_a_clean_one() -> None:
    disturbed = replace(completed(samples_per_s=300.0), tags={"contaminated": "30 %"})
    speeds = known(a=[1000.0])
    speeds.add(B, disturbed)
    assert speeds.contenders([A, B]) == [A, B], "it may be as fast"
    speeds.add(B, completed(samples_per_s=990.0))
    speeds.add(B, disturbed)
    assert (speeds.num_runs(B), speeds.num_asked(B)) == (1, 3)
    assert math.exp(speeds.mean(B)) == pytest.approx(990.0)


def test_a_setting_that_violates_a_condition_is_out_where_another_one_holds_it() -> None:
    speeds = Speeds(goals(None, at_most("peak_rss_gib", 20)), 4, 0.05)
    speeds.add(A, completed(samples_per_s=1000.0, peak_rss_gib=30.0))
    assert speeds.able([A]) == [A]
    speeds.add(B, completed(samples_per_s=500.0, peak_rss_gib=10.0))
    assert speeds.able([A, B]) == [B]


def test_the_rate_stands_in_where_a_probe_has_no_figure_of_the_objective() -> None:
    speeds = Speeds(goals(minimize("epoch_s")), 4, 0.05)
    speeds.add(A, completed(samples_per_s=1000.0, epoch_s=2.0))
    speeds.add(B, completed(samples_per_s=2000.0, epoch_s=1.0))
    assert speeds.mean(B) == pytest.approx(0.0)
    speeds.add(C, completed(samples_per_s=3000.0))
    assert max([A, B, C], key=speeds.mean) == C


def dropped_faster(true: dict[Key, float], rng: random.Random, spread: float) -> bool:
    """Eliminate as the search does; True if one faster than the pick by the margin was dropped."""
    speeds = Speeds(goals(), len(true) * len(looks(6)), level=0.05)
    settings = list(true)
    for num_probes in looks(6):
        left = settings if num_probes == 1 else speeds.contenders(settings)
        if num_probes > TIES_FROM and len(speeds.ties(settings)) == len(left):
            break
        for setting in left:
            for _ in range(speeds.num_asked(setting), num_probes):
                rate = math.exp(true[setting] + rng.gauss(0, spread))
                speeds.add(setting, completed(samples_per_s=rate))
    left, pick = speeds.contenders(settings), rng.choice(speeds.ties(settings))
    return any(true[s] > true[pick] + MARGIN for s in settings if s not in left)


@pytest.mark.parametrize("gap", [0.021, 0.05])
@pytest.mark.parametrize("spread", [0.03, 0.06])
def test_with_95_percent_nothing_faster_than_the_pick_was_dropped(
    gap: float, spread: float
) -> None:
    """One setting is faster than all others by a little more than the margin: the worst case."""
    rng = random.Random(f"{gap} {spread}")
    true = {(i,): 0.0 if i == 0 else -gap for i in range(12)}
    searches = 60
    assert sum(dropped_faster(true, rng, spread) for _ in range(searches)) <= 0.05 * searches
