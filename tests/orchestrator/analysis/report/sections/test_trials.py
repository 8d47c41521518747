"""All trials of the page, and those that did not complete."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pandas as pd
import pytest

from orchestrator.analysis.report.sections.trials import (
    counts_of_states,
    gone_on,
    lost_trials,
    trials_table,
)
from orchestrator.analysis.report.view import View

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


def test_a_figure_is_a_column_where_any_trial_has_it(view: View) -> None:
    assert "worker_growth_mib_per_epoch" not in trials_table(view).head
    growth = [12.5, *[np.nan] * (len(view.trials) - 1)]
    cells = {"metrics.worker_growth_mib_per_epoch": growth}
    table = trials_table(replace(view, trials=view.trials.assign(**cells)))
    column = table.head.index("worker_growth_mib_per_epoch")
    assert [row[column].text for row in table.rows[:2]] == ["12.5", ""]
    assert table.numeric[column]


def test_every_trial_has_a_row_with_its_state(view: View) -> None:
    table = trials_table(view)
    assert table.num_left_out == 0
    assert len(table.rows) == len(view.trials) == 35
    assert set(table.marks) == {"completed", "stopped", "infeasible", "failed", "not_run"}


def test_lost_trials_are_counted_by_their_reason(view: View) -> None:
    lost = {one.reason.partition("\n")[0]: (one.state, one.count) for one in lost_trials(view)}
    assert lost["needs 2 GPUs, the largest node has 0"] == ("infeasible", 1)
    assert lost["the time budget ended"] == ("not run", 1)
    assert len(lost) == 5


def test_of_many_trials_the_marked_ones_are_listed(
    view: View, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("orchestrator.analysis.report.sections.trials.MAX_ROWS", 12)
    table = trials_table(view)
    assert (len(table.rows), table.num_left_out) == (12, len(view.trials) - 12)
    listed = {row[0].text for row in table.rows}
    marked = view.shown[view.shown["on_front"] | view.shown["is_recommended"]]
    assert {trial for ids in marked["trial_ids"] for trial in ids} <= listed


def test_figures_that_are_no_objective_are_shown_on_a_click(view: View) -> None:
    table = trials_table(view)
    rest = table.head[-table.num_rest :]
    assert {"epoch_s", "step_ms", "peak_rss_gib"} <= set(rest)
    assert not {"samples_per_s", "val_acc"} & set(rest)


def test_configs_of_a_reason_are_named_once(view: View) -> None:
    infeasible = view.trials["state"] == "infeasible"
    many = view.trials[infeasible].iloc[[0, 0, 1]].assign(reason="no GPU")
    (lost,) = lost_trials(replace(view, trials=many), max_configs=1)
    assert (lost.count, len(lost.configs), lost.has_more) == (3, 1, True)
    (lost,) = lost_trials(replace(view, trials=many))
    assert (len(lost.configs), lost.has_more) == (2, False)
