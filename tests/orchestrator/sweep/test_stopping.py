"""What is wrong with a sweep's stopping is said before anything starts."""

from __future__ import annotations

from typing import Any

import pytest

from orchestrator.metrics import at_least, maximize, minimize
from orchestrator.search import Asha, Factored
from orchestrator.sweep.checks import findings
from orchestrator.sweep.definition import Sweep
from tests.orchestrator.search.playing import SPACE, TRAINABLE

SPEED, ACCURACY = maximize("samples_per_s"), maximize("val_acc")


def wrong(stopping: Any, **fields: Any) -> list[str]:  # noqa: ANN401
    """Return what is wrong with a sweep of 9 epochs."""
    given: dict[str, Any] = {"epochs": 9, "objectives": (SPEED, ACCURACY), **fields}
    sweep = Sweep(TRAINABLE, question="?", space=SPACE, stopping=stopping, **given)
    return [f"{field}{text}; {allowed}" for field, text, allowed in findings(sweep)]


@pytest.mark.parametrize(
    "stopping",
    [
        None,
        Asha(),
        Asha("val_acc"),
        Asha(("samples_per_s", "val_acc"), grace=3, factor=2),
        Asha(minimize("train_loss"), grace=8),
    ],
)
def test_what_can_be_done_is_not_refused(stopping: Asha | None) -> None:
    assert wrong(stopping) == []


@pytest.mark.parametrize(
    ("stopping", "fields", "text"),
    [
        (Asha("val_acc", grace=9), {}, "grace = 9 epochs leave no rung within a trial of 9 epochs"),
        (Asha("val_acc", grace=12), {}, "allowed: grace < 9"),
        (Asha(), {"epochs": 1}, "a trial of 1 epoch cannot end early"),
        (Asha("val_ac"), {}, "'val_ac' is no objective of the sweep; did you mean 'val_acc'?"),
        (Asha("train_loss"), {}, "or another as maximize(...) or minimize(...)"),
        (Asha(maximize("val_accc")), {}, "unknown metric 'val_accc'"),
        (Asha(maximize("time_to_accuracy_s")), {}, "is in no report of a trial that still trains"),
        (Asha, {}, "= Asha is a class"),
        ("asha", {}, "= 'asha' is not allowed"),
        (Asha(), {"search": Factored()}, "does not go with search=Factored()"),
    ],
)
def test_what_cannot_is_one_message(stopping: object, fields: dict[str, Any], text: str) -> None:
    (message,) = wrong(stopping, **fields)
    assert message.startswith("stopping")
    assert text in message


def test_a_condition_is_no_goal_to_compare_by() -> None:
    assert (
        "'val_acc' is no objective"
        in wrong(Asha("val_acc"), objectives=(SPEED, at_least("val_acc", 0.9)))[0]
    )
