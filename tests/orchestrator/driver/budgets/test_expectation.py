"""What budgets keep back for the confirm stage, in trainings of a minute on two cores."""

from __future__ import annotations

import pytest

from orchestrator.driver.budgets.budgets import Amount, Budgets
from orchestrator.driver.budgets.expectation import MARGIN, ConfirmStage

ONE = Amount(time_s=60.0, core_s=120.0)


def kept(stage: ConfirmStage, budget: float) -> float:
    """Return the trainings that are kept back of core-hours for ``budget`` trainings."""
    budgets = Budgets(core_hours=budget * ONE.core_s / 3600)
    amount = stage.kept_back(budgets, baseline=ONE, typical=ONE, least=ONE.times(2))
    return amount.core_s / ONE.core_s


@pytest.mark.parametrize(
    ("stage", "budget", "trainings"),
    [
        (ConfirmStage(rounds=3, finalists=2), 100, MARGIN * (3 * 3 + 1)),
        (ConfirmStage(rounds=3, finalists=2), 10, 3 * 2 + 1),
        (ConfirmStage(rounds=3, finalists=2), 8, 0),
        (ConfirmStage(rounds=3, finalists=0), 100, MARGIN * (3 + 1)),
        (ConfirmStage(rounds=4, share=0.25), 100, MARGIN * (4 * 2 * 0.25 + 1)),
        (ConfirmStage(), 100, 0),
    ],
    ids=["all finalists", "the selected config", "no search left", "sole", "short runs", "none"],
)
def test_room_is_kept_for_as_much_of_the_stage_as_leaves_a_search(
    stage: ConfirmStage, budget: float, trainings: float
) -> None:
    assert kept(stage, budget) == pytest.approx(trainings)
