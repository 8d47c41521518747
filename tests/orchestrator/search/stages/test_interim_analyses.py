"""Interim analyses: at how many pairs of runs, and at what level."""

from __future__ import annotations

import pytest

from orchestrator.search.stages.interim_analyses import LEVEL, InterimAnalyses


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
