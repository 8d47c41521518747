import math

import numpy as np
import pytest
from scipy import stats

from benchmarks.rounds import stages
from orchestrator.analysis.statistics.rounds import (
    level_of_looks,
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


@pytest.mark.parametrize("num_finalists", [1, 3])
def test_intervals_of_all_looks_are_right_together(num_finalists: int) -> None:
    wrong, *_ = stages(800, 0.03, num_finalists, 0.0)
    assert wrong <= 0.07  # 5 % and two standard errors


def test_a_stage_of_any_length_has_its_level() -> None:
    assert 0 < level_of_looks((3, 1000, 100_000), 3) < level_of_looks((3,), 3) < 0.05


def test_a_planted_difference_is_found_in_nine_rounds() -> None:
    wrong, faster, _, width = stages(400, 0.03, 2, math.log(1.05))
    assert wrong <= 0.07
    assert faster >= 0.75
    assert width <= 1.5
