from __future__ import annotations

import math

import numpy as np
import pytest
from scipy import stats

from orchestrator.analysis.statistics.intervals import Floats
from orchestrator.analysis.statistics.rounds import (
    EARLY,
    NOTHING,
    level_of_looks,
    prior_of,
    ratio_in_rounds,
)
from orchestrator.search.stages.judge import InterimAnalyses

LOOKS = InterimAnalyses(first=3, last=9).at
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


def claims(errors: Floats, gain: float) -> tuple[float, float]:
    """Return how often an interval of a stage was wrong, and how often the first one was faster.

    Args:
        errors: Stages, rounds, configs; the last config is the baseline.
        gain: Logarithm of the first config's ratio.
    """
    wrong = faster = 0
    num, last = errors.shape[2] - 1, level_of_looks(LOOKS, errors.shape[2] - 1)
    for logs in errors + gain * np.eye(num + 1)[0]:
        is_wrong = False
        for rounds in LOOKS:
            level = last * (1 if rounds == LOOKS[-1] else EARLY)
            intervals = [ratio_in_rounds(logs[:rounds], i, num, level) for i in range(num)]
            for true, interval in zip([math.exp(gain), 1.0, 1.0], intervals, strict=False):
                is_wrong |= not interval.low <= true <= interval.high
            if intervals[0].low > 1:
                break
        wrong += is_wrong
        faster += intervals[0].low > 1
    return wrong / len(errors), faster / len(errors)


@pytest.mark.parametrize("num_finalists", [1, 2, 3])
@pytest.mark.parametrize("drift", [0.0, 0.05])
def test_the_intervals_of_all_looks_are_right_together(num_finalists: int, drift: float) -> None:
    rng = np.random.default_rng(num_finalists)
    errors = 0.03 * rng.standard_normal((400, LOOKS[-1], num_finalists + 1))
    errors += drift * rng.standard_normal((400, LOOKS[-1], 1)).cumsum(axis=1)
    wrong, _ = claims(errors, 0.0)
    assert wrong <= 0.07  # 5 % and two standard errors


def test_a_planted_difference_is_found_in_nine_rounds() -> None:
    errors = 0.03 * np.random.default_rng(0).standard_normal((400, LOOKS[-1], 3))
    wrong, faster = claims(errors, math.log(1.05))
    assert wrong <= 0.07
    assert faster >= 0.75
