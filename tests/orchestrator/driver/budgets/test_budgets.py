"""Limits of time and core-hours, and what they keep back for the confirm stage."""

from __future__ import annotations

import json

import pytest

from orchestrator.driver.budgets.budgets import MARGIN, Amount, Budgets, kept_back
from orchestrator.search.stages.confirm import FirstRounds

HOUR = Amount(time_s=3600.0, core_s=4 * 3600.0)


@pytest.mark.parametrize(
    ("budgets", "words"),
    [
        (Budgets(time_s=3599), "the time budget of 3599 s"),
        (Budgets(core_hours=3.9), "the budget of 3.9 core-hours"),
        (Budgets(time_s=3600, core_hours=4), ""),
        (Budgets(), ""),
    ],
)
def test_the_limit_that_is_exceeded_the_most_is_named(budgets: Budgets, words: str) -> None:
    assert budgets.exceeded_by(HOUR) == words


def test_a_limit_that_is_reached_is_spent_but_not_exceeded() -> None:
    budgets = Budgets(core_hours=4)
    assert budgets.spent_by(HOUR) == "the budget of 4 core-hours"
    assert budgets.exceeded_by(HOUR) == ""


def test_a_run_has_more_where_one_limit_is_larger_or_gone() -> None:
    before = json.loads(json.dumps(Budgets(time_s=60, core_hours=1).limits))
    assert not Budgets(time_s=60, core_hours=1).has_more_than(before)
    assert not Budgets(time_s=50, core_hours=1).has_more_than(before)
    assert Budgets(time_s=61, core_hours=1).has_more_than(before)
    assert Budgets(time_s=60).has_more_than(before)


def test_amounts_are_put_in_the_words_of_what_is_limited() -> None:
    assert Budgets(core_hours=1).in_words(HOUR) == "4 core-hours"
    assert Budgets(time_s=1).in_words(HOUR) == "1 h"


ONE = Amount(time_s=60.0, core_s=120.0)


@pytest.mark.parametrize(
    ("first", "budget", "trainings"),
    [
        (FirstRounds(rounds=3, finalists=2), 100, MARGIN * (3 * 3 + 1)),
        (FirstRounds(rounds=3, finalists=2), 10, 3 * 2 + 1),
        (FirstRounds(rounds=3, finalists=2), 8, 0),
        (FirstRounds(rounds=3, finalists=0), 100, MARGIN * (3 + 1)),
        (FirstRounds(rounds=4, share=0.25), 100, MARGIN * (4 * 2 * 0.25 + 1)),
        (FirstRounds(), 100, 0),
    ],
    ids=["all finalists", "the selected config", "no search left", "sole", "short runs", "none"],
)
def test_room_is_kept_for_as_much_of_the_stage_as_leaves_a_search(
    first: FirstRounds, budget: float, trainings: float
) -> None:
    budgets = Budgets(core_hours=budget * ONE.core_s / 3600)
    kept = kept_back(first, budgets, baseline=ONE, typical=ONE, least=ONE.times(2))
    assert kept.core_s / ONE.core_s == pytest.approx(trainings)
