"""The plan of a sweep whose trials end early."""

from __future__ import annotations

from orchestrator.driver.planning.stopping import stopping_lines
from orchestrator.search import Asha
from orchestrator.space.domains import choice
from tests.orchestrator.driver.plans import Config, plan

SPACE = Config(workers=choice(0, 1, 2), lr=choice(0.1, 0.2, 0.3))


def test_it_says_the_rungs_what_happens_there_and_what_a_stopped_row_is() -> None:
    ends = plan(space=SPACE, epochs=9, steps=None, stopping=Asha("val_acc", grace=1))
    rungs, ending, epochs, rows = stopping_lines(ends)
    assert rungs == "after 1 and 3 of 9 epochs configs are compared by val_acc"
    assert ending == "a trial that is not among the best 1 in 3 so far ends there"
    # 8 of 9 configs beside the baseline: 8 epochs, 2 go on to the third and 1 of these to the end
    assert epochs == f"about {9 + 8 + 2 * 2 + 6} of 81 epochs of the search"
    assert rows.startswith("the baseline trains to the end; rows that are stopped are results")


def test_without_stopping_it_says_nothing() -> None:
    assert list(stopping_lines(plan(space=SPACE))) == []
