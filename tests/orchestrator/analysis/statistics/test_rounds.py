from __future__ import annotations

import math

import numpy as np
import pytest
from scipy import stats

from benchmarks.rounds import stages
from orchestrator.analysis.statistics.rounds import (
    NOTHING,
    level_of_looks,
    prior_of,
    ratio_in_rounds,
)

LEVEL = 0.05


def test_one_look_at_one_finalist_is_a_paired_t_test() -> None:
    logs = np.log([[4100.0, 1000.0], [3900.0, 980.0], [4400.0, 1100.0]])
    gains = logs[:, 0] - logs[:, 1]
    expected = np.exp(stats.t.interval(0.95, 2, loc=gains.mean(), scale=stats.sem(gains)))
    interval = ratio_in_rounds(logs, 0, 1, level_of_looks((3,), 1))
    assert [interval.low, interval.high] == pytest.approx(expected)


def test_a_run_that_does_not_count_leaves_the_others_their_weight() -> None:
    logs = 0.02 * np.random.default_rng(0).standard_normal((5, 3))
    logs[1, 2] = math.nan
    whole = ratio_in_rounds(logs, 0, 1, LEVEL)
    own = ratio_in_rounds(logs[:, :2], 0, 1, LEVEL)
    assert whole.centre == own.centre
    assert (whole.low, whole.high) != (own.low, own.high)
    assert math.isnan(ratio_in_rounds(logs[:1], 0, 1, LEVEL).low)


def test_a_config_that_varies_more_keeps_its_own_spread() -> None:
    logs = np.random.default_rng(0).standard_normal((9, 5)) * [0.2, 0.01, 0.01, 0.01, 0.01]
    own = ratio_in_rounds(logs[:, [0, 4]], 0, 1, LEVEL)
    assert ratio_in_rounds(logs, 0, 4, LEVEL) == pytest.approx(own)


def test_earlier_stages_count_the_more_the_better_they_agree() -> None:
    runs = np.full(4, 9.0)
    alike = prior_of(np.array([0.02, 0.021, 0.019, 0.02]), runs)
    unlike = prior_of(np.array([0.002, 0.1, 0.01, 0.05]), runs)
    assert math.sqrt(alike.variance) == pytest.approx(0.02, rel=0.6)
    assert 0 < unlike.df < alike.df <= 3
    assert prior_of(np.array([0.02]), np.array([9.0])) == NOTHING
    logs = np.log([[1096.0, 1000.0], [1114.0, 1000.0]])
    assert ratio_in_rounds(logs, 0, 1, LEVEL, alike).low > ratio_in_rounds(logs, 0, 1, LEVEL).low
    noisy = np.log([[1300.0, 1000.0], [1000.0, 1000.0]])
    assert ratio_in_rounds(noisy, 0, 1, LEVEL, alike) == ratio_in_rounds(noisy, 0, 1, LEVEL)


@pytest.mark.parametrize(("num_finalists", "earlier"), [(1, None), (2, 1 / 3), (3, None)])
def test_intervals_of_all_looks_are_right_together(
    num_finalists: int, earlier: float | None
) -> None:
    wrong, *_ = stages(400, 0.03, num_finalists, 0.0, earlier)
    assert wrong <= 0.07  # 5 % and two standard errors


def test_a_planted_difference_is_found_in_nine_rounds() -> None:
    wrong, faster, _, width = stages(400, 0.03, 2, math.log(1.05), None)
    assert wrong <= 0.07
    assert faster >= 0.75
    assert width <= 1.5
