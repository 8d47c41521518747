"""Counts of the states: a config that the search ended is not one that it has gone on with."""

from __future__ import annotations

import pandas as pd

from orchestrator.analysis.report.states import counts_of_states, gone_on

TRIALS = pd.DataFrame(
    [
        ("a", "stopped"),  # paused, gone on with twice
        ("b", "stopped"),
        ("a", "stopped"),
        ("c", "completed"),
        ("a", "completed"),
        (None, "stopped"),
        ("d", "not_run"),
    ],
    columns=["curve", "state"],
)


def test_a_pause_that_a_later_trial_went_on_from_is_counted_apart() -> None:
    assert counts_of_states(TRIALS) == {
        "completed": 2,
        "stopped": 2,
        "paused and gone on with": 2,
        "not run": 1,
    }


def test_without_pauses_it_is_the_states_alone() -> None:
    assert counts_of_states(TRIALS.drop(columns="curve")) == {
        "completed": 2,
        "stopped": 4,
        "not run": 1,
    }


def test_one_that_was_gone_on_with_is_no_trial_that_did_not_complete() -> None:
    assert list(gone_on(TRIALS)) == [True, False, True, False, False, False, False]
