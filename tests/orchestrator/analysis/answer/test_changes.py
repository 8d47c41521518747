from __future__ import annotations

import pytest

from orchestrator.analysis.answer.changes import Change, changes_of, named
from tests.orchestrator.analysis.made_runs import MadeRun, config


def changes(number: int) -> list[Change]:
    names = ("batch_size", "num_workers", "lr", "dropout", "threads", "ranks")
    return [Change(knob=name, value="2", baseline="1") for name in names[:number]]


def test_knobs_that_change_the_speed_come_before_those_that_change_learning_alone() -> None:
    found = changes_of(config(lr=0.01, batch_size=4000, fanouts=[10, 25]), MadeRun().tables)
    assert [(c.knob, c.value, c.baseline) for c in found] == [
        ("batch_size", "4000", "1000"), ("lr", "0.01", "0.003"),
    ]  # fmt: skip


@pytest.mark.parametrize(
    ("number", "words"),
    [
        (0, "the baseline"),
        (1, "batch_size 2"),
        (2, "batch_size 2 with num_workers 2"),
        (4, "batch_size 2 with num_workers 2, lr 2 and dropout 2"),
        (6, "batch_size 2 with num_workers 2, lr 2 and 3 more settings"),
    ],
)
def test_a_config_is_named_by_what_differs_four_at_most(number: int, words: str) -> None:
    assert named(changes(number)) == words
