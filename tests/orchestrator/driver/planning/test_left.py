"""The progress of a run that has begun, and what of its plan is left."""

from __future__ import annotations

from collections import Counter
from typing import Any

import pytest

from orchestrator.driver.budgets.budgets import Amount, Budgets, Prices
from orchestrator.driver.planning.left import Progress, lines_of_the_rest, progress_of
from orchestrator.space.domains import choice
from orchestrator.storage.journal import Event
from tests.orchestrator.driver.plans import Config, plan

SPENT = Amount(time_s=90.0, core_s=7200.0)


def event(kind: str, trial: str = "", **content: Any) -> Event:  # noqa: ANN401 - plain JSON values
    return {"at": 0.0, "event": kind, **({"trial_id": trial} if trial else {}), **content}


def ended(trial: str, state: str) -> Event:
    return event("finished", trial, result={"state": state})


PAST = [
    event("started", "a"), ended("a", "completed"), ended("b", "infeasible"),
    event("started", "c"), ended("d", "not_run"),
]  # fmt: skip


def test_a_trial_counts_as_run_that_was_started_and_has_a_result() -> None:
    progress = progress_of(PAST, SPENT)
    assert progress.states == {"completed": 1, "infeasible": 1, "not_run": 1}
    assert (progress.num_run, progress.has_ended) == (1, False)


def test_the_last_result_of_a_trial_counts() -> None:
    progress = progress_of([*PAST, event("started", "d"), ended("d", "completed")], SPENT)
    assert progress.states == {"completed": 2, "infeasible": 1}


@pytest.mark.parametrize(("code", "has_ended"), [(0, True), (130, False)])
def test_a_run_has_ended_where_its_last_process_came_to_the_end(code: int, has_ended: bool) -> None:
    assert progress_of([*PAST, event("ended", exit_code=code)], SPENT).has_ended is has_ended
    assert not progress_of([], SPENT).has_ended


def told(
    states: dict[str, int], *, budgets: Budgets | None = None, goes_on: bool = False
) -> dict[str, list[str]]:
    """Return the lines for a plan of 9 to 33 trials of 30 s, of which so many have ended."""
    made = plan(space=Config(workers=choice(0, 2)), trial_s={"": 30.0})
    ran = states.get("completed", 0)
    progress = Progress(states=Counter(states), num_run=ran, spent=SPENT, has_ended=True)
    return lines_of_the_rest(made, progress, budgets or Budgets(), goes_on=goes_on)


def test_what_is_left_is_the_plan_less_what_has_run() -> None:
    assert told({"completed": 3, "infeasible": 1, "not_run": 2}) == {
        "done": ["4 trials: 3 completed, 1 infeasible, 2 not run"],
        "spent": ["90 s, 2 core-hours"],
        "left": ["6 to 30 trials, about 3 min to 15 min", "2 trials had no room in the budget"],
    }


def test_a_run_that_has_ended_has_nothing_left_but_where_it_is_extended() -> None:
    assert told({"completed": 9})["left"] == ["nothing: the run has ended"]
    assert told({"completed": 9}, goes_on=True)["left"] == ["0 to 24 trials, about 0 s to 12 min"]


def test_what_was_spent_is_held_against_each_budget() -> None:
    budgets = Budgets(core_hours=8, prices=Prices(cpu_hour=0.5), max_cost=2)
    assert told({}, budgets=budgets)["spent"] == [
        "90 s, 2 core-hours, cost 1",
        "25 % of the budget of 8 core-hours",
        "50 % of the cost of 2",
    ]
