"""Spending is counted from the journal's events; the room for more trials follows from it."""

import json
from dataclasses import replace
from typing import Any

import pytest

from orchestrator.driver.budgets import MARGIN, Amount, Budgets
from orchestrator.driver.planning.spending import Spending
from orchestrator.trial import Budget, Stage, Trial
from tests.orchestrator.driver.plans import plan
from tests.orchestrator.helpers.journalled import event_of

PLAN = plan(num_cores=2, epochs=9)
WHOLE = PLAN.sweep.budget
BASELINE = {"a": 0}


def trial(a: int = 0, **fields: Any) -> Trial:  # noqa: ANN401 - of Trial
    made = Trial(id=f"{a}", stage=Stage.TRAIN, config={"a": a}, budget=WHOLE, seed=0)
    made = replace(made, **fields)
    return replace(made, id=f"{a} {made.stage} {made.repeat} {made.budget}")


class Clock:
    """A run with a clock that a test sets."""

    def __init__(
        self,
        budgets: Budgets | None = None,
        confirm: int = 0,
        trial_s: float | None = None,
    ) -> None:
        self.at = 100.0
        made = plan(num_cores=2, epochs=9, confirm=confirm, finalists=1)
        made = replace(made, num_able=2, stated_s=trial_s)
        self.spending = Spending(budgets or Budgets(), made, lambda: self.at)
        self.event("sweep", sweep={})

    def event(self, kind: str, **content: Any) -> None:  # noqa: ANN401 - plain JSON values
        self.spending.apply(event_of({"at": self.at, "event": kind, **content}))

    def start(self, one: Trial, cores: int = 2) -> None:
        self.event("asked", trial=one)
        self.event("started", trial_id=one.id, node="here", cores=cores)

    def end(self, one: Trial, state: str = "completed", wall_s: float | None = None) -> None:
        self.event("finished", trial_id=one.id, result={"state": state, "wall_s": wall_s})

    def refused(self, one: Trial) -> str:
        """Return why a trial may not start; empty if it may."""
        result = self.spending.not_run(one)
        return "" if result is None else result.reason

    def ran(self, one: Trial, seconds: float, state: str = "completed") -> None:
        self.start(one)
        self.at += seconds
        self.end(one, state)


def test_a_trial_counts_its_cores_times_the_time_that_it_has_them() -> None:
    run = Clock()
    run.ran(trial(1), 10.0)
    run.start(trial(3), cores=4)
    run.at += 5.0
    assert run.spending.spent == Amount(time_s=15.0, core_s=2 * 10 + 4 * 5.0)


def test_trials_in_time_slices_count_their_cores_once() -> None:
    run = Clock()
    first, second = (trial(a, interleaved=True, stage=Stage.CONFIRM) for a in (0, 1))
    run.start(first)
    run.start(second)
    run.at += 10.0
    assert run.spending.spent.core_s == 20.0
    run.end(first, wall_s=4.0)
    run.at += 2.0
    run.end(second, wall_s=6.0)
    assert run.spending.spent.core_s == 24.0


def test_another_attempt_continues_the_count() -> None:
    run = Clock()
    run.start(trial())
    run.at += 3.0
    run.event("started", trial_id=trial().id, node="here", cores=2)
    run.at += 3.0
    run.end(trial())
    assert run.spending.spent.core_s == 12.0


def test_what_an_earlier_process_spent_counts_up_to_its_last_event() -> None:
    run = Clock()
    run.ran(trial(0), 10.0)
    run.start(trial(1))
    run.at += 5.0
    run.event("waiting", trial_id=trial(1).id, seconds=1, what="")
    run.at += 1000.0
    run.event("resumed", sweep={})
    assert run.spending.spent == Amount(time_s=15.0, core_s=30.0)


# -- what there is room for

HOURS_20_TRIALS = Budgets(core_hours=20 * 2 * 60 / 3600)
"""Room for 20 trials of 60 s on two cores."""


def test_without_a_duration_a_trial_may_start_until_the_budget_is_spent() -> None:
    run = Clock(HOURS_20_TRIALS, confirm=3)
    assert run.refused(trial()) == ""
    run.start(trial())
    run.at += 20 * 60.0
    assert "core-hours" in run.refused(trial(1))


def test_what_was_planned_counts_until_there_are_durations() -> None:
    run = Clock(HOURS_20_TRIALS, trial_s=60.0 * 21)
    assert "core-hours" in run.refused(trial())
    run.ran(trial(), 60.0)
    assert run.refused(trial(1)) == ""


def test_trials_that_run_are_expected_to_end() -> None:
    run = Clock(Budgets(core_hours=3.5 * 2 * 60 / 3600))
    run.ran(trial(0), 60.0)
    run.start(trial(1))
    assert run.refused(trial(2)) == "", "three trials"
    run.start(trial(2))
    assert "core-hours" in run.refused(trial(3)), "four"


def test_trials_that_wait_for_their_cores_count_as_those_that_run() -> None:
    run = Clock(Budgets(core_hours=3.5 * 2 * 60 / 3600))
    run.ran(trial(0), 60.0)
    run.spending.launched([trial(1), trial(2)])
    assert "core-hours" in run.refused(trial(3))
    run.start(trial(1))
    assert "core-hours" in run.refused(trial(3)), "it counts once"
    run.event("asked", trial=trial(2))
    run.end(trial(2), state="not_run")
    assert run.refused(trial(3)) == ""


def test_a_short_trial_is_expected_to_be_short() -> None:
    run = Clock(Budgets(core_hours=2 * 2 * 60 / 3600))
    probe = Budget(epochs=9, half_width=0.05)
    run.ran(trial(0), 60.0)
    run.ran(trial(0, budget=probe, stage=Stage.PROBE), 1.0)
    assert "core-hours" in run.refused(trial(1))
    assert run.refused(trial(1, budget=probe, stage=Stage.PROBE)) == ""


def test_a_time_budget_is_not_used_up_twice_by_trials_side_by_side() -> None:
    run = Clock(Budgets(time_s=125.0))
    run.ran(trial(0), 60.0)
    run.start(trial(1))
    assert run.refused(trial(2)) == ""
    run.at += 10.0
    assert "time budget" in run.refused(trial(2))


def test_a_later_round_starts_where_it_and_the_test_run_fit() -> None:
    run = Clock(Budgets(core_hours=4 * 2 * 60 / 3600), confirm=2)
    run.ran(trial(0), 60.0)
    assert run.spending.may_start([BASELINE] * 3, kept_back=False)
    assert not run.spending.may_start([BASELINE] * 4, kept_back=False)


# -- limits

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
    assert budgets.exceeded_by(HOUR, reached=True) == "the budget of 4 core-hours"
    assert budgets.exceeded_by(HOUR) == ""


def test_a_run_has_more_if_one_limit_is_larger_or_absent() -> None:
    before = json.loads(json.dumps(vars(Budgets(time_s=60, core_hours=1))))
    assert not Budgets(time_s=60, core_hours=1).has_more_than(before)
    assert not Budgets(time_s=50, core_hours=1).has_more_than(before)
    assert Budgets(time_s=61, core_hours=1).has_more_than(before)
    assert Budgets(time_s=60).has_more_than(before)


@pytest.mark.parametrize(
    ("runs", "share", "able", "budget", "trainings"),
    [
        (3, 1.0, 3, 100, MARGIN * (3 * 3 + 1)),
        (3, 1.0, 3, 10, 3 * 2 + 1),
        (3, 1.0, 3, 8, 0),
        (3, 1.0, 1, 100, MARGIN * (3 + 1)),
        (4, 0.25, 2, 100, MARGIN * (4 * 2 * 0.25 + 1)),
        (0, 1.0, 2, 100, 0),
    ],
    ids=["all finalists", "the selected config", "no search left", "sole", "short runs", "none"],
)
def test_room_is_kept_for_as_much_of_the_stage_as_leaves_a_search(
    runs: int, share: float, able: int, budget: float, trainings: float
) -> None:
    made = plan(num_cores=2, confirm=runs, finalists=2)
    around = [replace(stage, share_of_trial=share) for stage in made.around]
    made = replace(made, around=tuple(around), num_able=able, stated_s=60.0)
    one = Amount(time_s=60.0, core_s=120.0)
    spending = Spending(Budgets(core_hours=budget * one.core_s / 3600), made, lambda: 0.0)
    kept = spending._kept_back() or Amount()
    assert kept.core_s / one.core_s == pytest.approx(trainings)
