"""The progress of a run that has begun, and what of its plan is left."""

from __future__ import annotations

from collections import Counter
from typing import Any

import pytest

from orchestrator.driver.budgets.budgets import Amount, Budgets, Prices
from orchestrator.driver.planning.groups import Group
from orchestrator.driver.planning.left import Progress, lines_of_the_rest, progress_of
from orchestrator.driver.planning.plan import Plan
from orchestrator.kernel.events import Event
from orchestrator.search import Grid, Optuna
from orchestrator.space.domains import choice
from orchestrator.trial import Budget, Stage
from tests.orchestrator.driver.plans import Config, Staged, plan
from tests.orchestrator.journalled import event_of
from tests.orchestrator.replay.made_runs import made_trial

SPENT = Amount(time_s=90.0, core_s=7200.0)
TRAININGS, PROBES, CONFIRMED = Group(Stage.TRAIN), Group(Stage.PROBE), Group(Stage.CONFIRM)
TESTED = Group(Stage.CONFIRM, tests=True)


def event(kind: str, trial: str = "", **content: Any) -> Event:  # noqa: ANN401 - plain JSON values
    return event_of({"at": 0.0, "event": kind, "trial_id": trial, **content})


def ended(trial: str, state: str) -> Event:
    return event("finished", trial, result={"state": state})


def asked(trial: str, stage: Stage = Stage.TRAIN) -> Event:
    budget = Budget(epochs=9)
    made = made_trial(trial, id=trial, stage=stage, budget=budget)
    return event_of({"at": 0.0, "event": "asked", "trial": made.to_json()})


CUT = event("cut", part="search", by="b", limits={}, text="t")
CUT_CONFIRM = event("cut", part="confirm", by="b", limits={}, text="t")
PAST = [
    *map(asked, "abcd"),
    event("started", "a"), ended("a", "completed"), ended("b", "infeasible"),
    event("started", "c"), ended("d", "not_run"),
]  # fmt: skip


def test_a_trial_counts_as_run_that_was_started_and_has_a_result() -> None:
    progress = progress_of(PAST, SPENT)
    assert progress.states == {"completed": 1, "infeasible": 1, "not_run": 1}
    assert (progress.num_run, progress.has_ended) == ({TRAININGS: 1}, False)
    assert progress.num_unable == {TRAININGS: 1}


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
    searched = min(ran, 2)
    ran_in = {TRAININGS: searched, CONFIRMED: min(ran - searched, 6), TESTED: int(ran > 8)}
    progress = progress_with(ran_in, states=Counter(states), has_ended=True)
    return lines_of_the_rest(made, progress, budgets or Budgets(), goes_on=goes_on)


def progress_with(ran: dict[Group, int], **changes: Any) -> Progress:  # noqa: ANN401 - likewise
    """Return the progress of a run that is not over, with so many trials of each group."""
    fields: dict[str, Any] = {
        "states": Counter(),
        "num_unable": Counter(),
        "has_searched": False,
        "spent": SPENT,
        "has_ended": False,
    }
    return Progress(num_run=Counter(ran), **{**fields, **changes})


def left(made: Plan, ran: dict[Group, int], **changes: Any) -> str:  # noqa: ANN401 - likewise
    return lines_of_the_rest(made, progress_with(ran, **changes), Budgets(), goes_on=False)["left"][
        0
    ]


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


def test_what_one_stage_had_more_of_is_not_taken_from_another() -> None:
    made = plan(search=Staged(), confirm=2)
    # 2 to 8 probes, 1 or 2 trainings, 4 runs or more to confirm, the test run
    assert left(made, {}).startswith("8 to ")
    assert left(made, {PROBES: 8}).startswith("6 to ")
    assert left(made, {PROBES: 8, TRAININGS: 2}).startswith("5 to ")
    assert left(made, {PROBES: 8, TRAININGS: 2, CONFIRMED: 30}).startswith("1 to ")


def test_once_the_confirm_stage_has_begun_nothing_is_left_of_the_search() -> None:
    made = plan(search=Staged(), confirm=2, max_confirm=2, finalists=1, max_repeats=1)
    ran = {PROBES: 3, TRAININGS: 1, CONFIRMED: 1}
    assert left(made, ran) == "4 to 10 trials"
    assert left(made, ran, has_searched=True) == "4 trials"


@pytest.mark.parametrize(
    ("events", "has_searched"),
    [
        ([], False),
        ([asked("c", Stage.CONFIRM)], True),
        ([CUT, asked("c", Stage.CONFIRM)], False),
        ([asked("c", Stage.CONFIRM), CUT_CONFIRM], True),
        ([asked("c", Stage.CONFIRM), event("went_on", trials=9)], False),
        ([CUT, event("went_on"), asked("c", Stage.CONFIRM)], True),
    ],
)
def test_the_journal_tells_whether_the_search_is_over(
    events: list[Event], has_searched: bool
) -> None:
    assert progress_of([asked("a"), *events], SPENT).has_searched is has_searched


def test_a_search_that_chooses_has_spent_a_config_on_each_that_cannot_run() -> None:
    short: Any = {"confirm": 0, "max_repeats": 1, "check_isolated": 0}
    made = plan(space=Config(workers=choice(*range(20))), search=Optuna(9), **short)
    ran, unable = {TRAININGS: 3}, Counter({TRAININGS: 2})
    assert left(made, ran, num_unable=unable) == "4 trials"
    # Of 6 configs 4 cannot run, each of which has its row: as many are left as can.
    space = Config(workers=choice(0, 1), ranks=choice(1, 2, 4))
    for search in (Optuna(9), Grid()):
        known = plan(space=space, search=search, **short)
        assert left(known, {}, num_unable=Counter({TRAININGS: 4})) == "2 trials"
        assert left(known, {TRAININGS: 1}, num_unable=Counter({TRAININGS: 4})) == "1 trial"
