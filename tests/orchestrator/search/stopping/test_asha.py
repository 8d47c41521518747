"""Asha as a sweep file states it: its rungs, what it compares by, what it refuses."""

from __future__ import annotations

from typing import Any

import pytest

from orchestrator.errors import SweepError
from orchestrator.metrics import at_most, maximize, minimize
from orchestrator.search import Asha

SPEED, ACCURACY, MEMORY = maximize("samples_per_s"), maximize("val_acc"), at_most("peak_rss_gib", 8)


@pytest.mark.parametrize(
    ("asha", "epochs", "rungs"),
    [
        (Asha(grace=1), 9, [1, 3]),
        (Asha(grace=1), 10, [1, 3, 9]),
        (Asha(grace=2, factor=4), 40, [2, 8, 32]),
        (Asha(), 9, [1, 3]),
        (Asha(), 20, [3, 9]),
        (Asha(), 2, [1]),
        (Asha(), 1, []),
        (Asha(grace=9), 9, []),
    ],
)
def test_rungs_lie_below_the_budget(asha: Asha, epochs: int, rungs: list[int]) -> None:
    assert asha.rungs(epochs) == rungs


def test_without_a_metric_all_objectives_count_but_conditions() -> None:
    aim = Asha().aim((SPEED, ACCURACY, MEMORY))
    assert (list(aim.goals), list(aim.bounds)) == ([SPEED, ACCURACY], [MEMORY])


def test_a_name_has_the_direction_of_the_sweep_s_objective() -> None:
    loss = minimize("train_loss")
    assert list(Asha("train_loss").aim((SPEED, loss)).goals) == [loss]
    assert list(Asha((loss, "val_acc")).aim((SPEED, ACCURACY)).goals) == [loss, ACCURACY]


def test_about_as_many_go_on_as_halving_leaves() -> None:
    assert Asha(grace=3).epochs_trained(27, 27) == 27 * 3 + 9 * 6 + 3 * 18
    assert Asha(grace=9).epochs_trained(27, 9) == 27 * 9


@pytest.mark.parametrize("wrong", [{"factor": 1}, {"factor": 2.5}, {"grace": 0}, {"grace": "1"}])
def test_what_is_no_number_of_epochs_or_no_reduction_is_refused(wrong: dict[str, Any]) -> None:
    with pytest.raises(SweepError, match=f"Asha: {next(iter(wrong))} = "):
        Asha(**wrong)
