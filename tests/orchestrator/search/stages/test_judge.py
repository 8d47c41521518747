"""Interim analyses: at how many pairs of runs, and at what level."""

from __future__ import annotations

import math

import numpy as np
import pytest

from orchestrator.analysis.statistics.intervals import t_quantile
from orchestrator.search.stages.judge import LEVEL, InterimAnalyses


@pytest.mark.parametrize(
    ("first", "last", "at"),
    [(3, 12, (3, 5, 8, 12)), (3, 3, (3,)), (3, 4, (3, 4)), (1, 4, (1, 2, 3, 4)), (5, 2, (5,))],
)
def test_the_analyses_grow_from_the_first_to_the_last(
    first: int, last: int, at: tuple[int, ...]
) -> None:
    assert InterimAnalyses(first=first, last=last).at == at


@pytest.mark.parametrize(("first", "last"), [(3, 12), (3, 3), (1, 4), (2, 100), (5, 2)])
def test_all_analyses_together_are_wrong_in_five_of_a_hundred_cases(first: int, last: int) -> None:
    analyses = InterimAnalyses(first=first, last=last)
    assert sum(map(analyses.level, analyses.at)) == pytest.approx(LEVEL)


def test_a_stage_that_was_broken_off_has_its_next_analysis_then() -> None:
    analyses = InterimAnalyses(first=3, last=12)
    assert analyses.level(4) == analyses.level(5) < analyses.level(9) == analyses.level(12)
    assert analyses.level(1) == analyses.level(3)
    assert analyses.level(40) == analyses.level(12)


def claims(log_ratio: float, cv: float) -> float:
    """Return the share of 2,000 simulated confirm stages that claim a difference.

    With the defaults and two finalists. A claim: the interval of the paired ratio leaves out 1, and
    the ratio exceeds the margin of a tie.
    """
    analyses, margin, num = InterimAnalyses(first=3, last=13), 0.02, 2000
    rng = np.random.default_rng(round(1e6 * cv))
    gains = log_ratio + math.sqrt(2) * cv * rng.standard_normal((num, analyses.last))
    is_claimed, is_open = np.zeros(num, dtype=bool), np.arange(num)
    for pairs in analyses.at:
        some = gains[is_open, :pairs]
        mean = np.abs(some.mean(axis=1))
        level = analyses.level(pairs) / 2  # of two finalists
        quantile = t_quantile(np.array([pairs - 1.0]), 1 - level / 2)[0]
        half = quantile * some.std(axis=1, ddof=1) / math.sqrt(pairs)
        is_claimed[is_open] = (mean > half) & (mean > margin)
        is_open = is_open[(mean <= half) & (mean + half > margin)]
    return float(is_claimed.mean())


@pytest.mark.parametrize("cv", [0.01, 0.02, 0.03])
def test_a_planted_difference_is_found_and_none_where_there_is_none(cv: float) -> None:
    assert claims(0.0, cv) <= LEVEL
    assert claims(math.log(1.05), cv) >= 0.8
