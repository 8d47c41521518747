"""All trials of the page, and those that did not complete."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pandas as pd
import pytest

from orchestrator.analysis.report.sections.trials import (
    counts_of_states,
    gone_on,
    lost_of,
    trials_of,
)
from orchestrator.analysis.report.tables import Table
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


def table_of(view: View) -> Table:
    table = trials_of(view).table
    assert table is not None
    return table


def test_a_pause_that_a_later_trial_went_on_from_is_counted_apart() -> None:
    assert counts_of_states(TRIALS) == {
        "completed": 2,
        "stopped": 2,
        "paused and gone on with": 2,
        "not run": 1,
    }
    assert list(gone_on(TRIALS)) == [True, False, True, False, False, False, False]
    assert counts_of_states(TRIALS.drop(columns="curve"))["stopped"] == 4


def test_a_figure_is_a_column_where_any_trial_has_it(view: View) -> None:
    assert "worker_growth_mib_per_epoch" not in table_of(view).head
    growth = [12.5, *[np.nan] * (len(view.trials) - 1)]
    cells = {"metrics.worker_growth_mib_per_epoch": growth}
    table = table_of(replace(view, trials=view.trials.assign(**cells)))
    column = table.head.index("worker_growth_mib_per_epoch")
    assert [row[column].text for row in table.rows[:2]] == ["12.5", ""]
    assert table.numeric[column]


def test_every_trial_has_a_row_with_its_state(view: View) -> None:
    table = table_of(view)
    assert table.num_left_out == 0
    assert len(table.rows) == len(view.trials) == 35
    assert set(table.marks) == {"completed", "stopped", "infeasible", "failed", "not_run"}


def test_of_many_trials_the_marked_ones_are_listed(
    view: View, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("orchestrator.analysis.report.sections.trials.MAX_ROWS", 12)
    table = table_of(view)
    assert (len(table.rows), table.num_left_out) == (12, len(view.trials) - 12)
    listed = {row[0].text for row in table.rows}
    marked = view.shown[view.shown["on_front"] | view.shown["is_recommended"]]
    assert {trial for ids in marked["trial_ids"] for trial in ids} <= listed


def test_lost_trials_are_counted_by_their_reason_and_name_some_configs(view: View) -> None:
    section = lost_of(view)
    assert section is not None
    assert section.table is not None
    lost = {cells[2].text.partition("\n")[0]: cells for cells in section.table.rows}
    assert len(lost) == 5
    assert [cell.text for cell in lost["the time budget ended"][:2]] == ["1", "not run"]
    infeasible = view.trials["state"] == "infeasible"
    many = view.trials[infeasible].iloc[[0, 0, 1]].assign(reason="no GPU")
    again = lost_of(replace(view, trials=many))
    assert again is not None
    assert again.table is not None
    ((count, _, _, configs, _),) = again.table.rows
    assert (count.text, len(configs.text.splitlines())) == ("3", 2)
    assert lost_of(replace(view, trials=view.trials[view.trials["state"] == "completed"])) is None
