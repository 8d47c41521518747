"""Knee, weights and functions, by hand and by their laws; the cheapest config, part by part."""

import math
from dataclasses import replace
from random import Random
from typing import Any

import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

from orchestrator.analysis.recommendation.selection import knee_scores, pick, weighted_scores
from orchestrator.analysis.rule import Rule, cost_of_row, order_by_cost
from orchestrator.analysis.statistics.pareto import pareto_front
from orchestrator.errors import SweepError
from orchestrator.metrics import maximize, minimize
from orchestrator.rules import COST_KNOBS, RuleKind, SelectionRule, knee, weighted
from tests.orchestrator.analysis.made_runs import MadeRun, config

SWEEP = MadeRun().record
SPEED, ACCURACY, MEMORY = maximize("samples_per_s"), maximize("val_acc"), minimize("peak_rss_gib")
TWO = Rule(objectives=(SPEED, ACCURACY), how=knee())
THREE = Rule(objectives=(SPEED, ACCURACY, MEMORY), how=knee())
NAMES = ("samples_per_s", "val_acc", "peak_rss_gib")


def table(*rows: tuple[float, ...]) -> pd.DataFrame:
    """Configs of a number of workers each, so that the first is the cheapest."""
    figures = pd.DataFrame(rows, columns=[f"metrics.{name}" for name in NAMES[: len(rows[0])]])
    return figures.assign(**{"params.num_workers": range(len(rows))})


def test_the_knee_is_farthest_from_the_line_between_the_ends() -> None:
    configs = table((100, 0.8), (80, 0.9), (0, 1.0), (60, 0.92))
    # Scaled: (1, 0), (0.8, 0.5), (0, 1), (0.6, 0.6).
    expected = [0.0, 0.3 / 2**0.5, 0.0, 0.2 / 2**0.5]
    assert knee_scores(configs, TWO) == pytest.approx(expected)
    assert pick(configs, TWO, SWEEP) == 1


def test_the_knee_of_three_objectives() -> None:
    configs = table((100, 0.8, 4.0), (0, 1.0, 4.0), (0, 0.8, 1.0), (60, 0.92, 2.5))
    # Scaled: (1, 0, 0), (0, 1, 0), (0, 0, 1), (0.6, 0.6, 0.5).
    assert knee_scores(configs, THREE) == pytest.approx([0, 0, 0, 0.7 / 3**0.5])
    assert pick(configs, THREE, SWEEP) == 3


def test_weights_count_what_a_config_is_short_of_the_best() -> None:
    rule = replace(TWO, how=weighted(samples_per_s=1, val_acc=10))
    configs = table((100, 0.80), (90, 0.88), (50, 1.00))
    # 10 x 20 %; 10 % and 10 x 12 %; 50 %.
    assert weighted_scores(configs, rule) == pytest.approx([-2.0, -1.3, -0.5])
    assert pick(configs, rule, SWEEP) == 2
    assert pick(configs, replace(rule, how=weighted(samples_per_s=1)), SWEEP) == 0


def own(function: Any) -> Rule:  # noqa: ANN401 - what a user may write
    how = SelectionRule(kind=RuleKind.FUNCTION, name="mine", function=function)
    return replace(TWO, how=how)


def test_a_function_returns_an_index_or_a_row() -> None:
    configs = table((100, 0.8), (50, 0.9))
    configs.index = pd.Index([7, 9])
    assert pick(configs, own(lambda frame: frame["metrics.val_acc"].idxmax()), SWEEP) == 1
    assert pick(configs, own(lambda frame: frame.loc[9]), SWEEP) == 1


@pytest.mark.parametrize(
    ("function", "message"),
    [
        (lambda frame: 3, "mine returned 3, which is no row of the table"),
        (lambda frame: None, "mine returned None"),
        (lambda frame: [0], r"mine returned \[0\]"),
        (lambda frame: frame["metrics.accuracy"], "mine raised KeyError: 'metrics.accuracy'"),
    ],
)
def test_a_function_that_picks_nothing_is_named(function: Any, message: str) -> None:  # noqa: ANN401
    with pytest.raises(SweepError, match=message):
        pick(table((100, 0.8), (50, 0.9)), own(function), SWEEP)


FIGURE = st.sampled_from([-1.0, 0.0, 0.25, 0.5, 0.75, 1.0, 3.0])
ROWS = st.lists(st.tuples(FIGURE, FIGURE, FIGURE), min_size=1, max_size=12)
HOWS = st.sampled_from(
    [knee(), weighted(samples_per_s=1, val_acc=10), weighted(peak_rss_gib=2.0), weighted(val_acc=1)]
)


@given(ROWS, HOWS, st.randoms())
def test_no_dominated_config_is_taken_and_their_order_does_not_matter(
    rows: list[tuple[float, ...]],
    how: Any,  # noqa: ANN401
    random: Random,
) -> None:
    configs, rule = table(*rows), replace(THREE, how=how)
    place = pick(configs, rule, SWEEP)
    assert pareto_front(configs, rule.directions)[place]
    shuffled = configs.iloc[random.sample(range(len(rows)), len(rows))]
    assert shuffled.iloc[pick(shuffled, rule, SWEEP)].equals(configs.iloc[place])


PARTS = ("device", *COST_KNOBS, "gpu_gib", "rss_gib", "knobs")


def cost(**cells: Any) -> tuple[float, ...]:  # noqa: ANN401
    row = {f"params.{name}": value for name, value in config().items()}
    row |= {"cores": 4, "device": "cpu", "metrics.peak_rss_gib": 1.0} | cells
    return cost_of_row(row, SWEEP)


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
    assert order_by_cost(pd.DataFrame(run.rows), SWEEP) == [3, 1, 0, 2]
