"""Tables of the page."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from analysis.recommendation.recommend import recommend
from analysis.report.tables import front_table, lost_trials, trials_table
from analysis.report.view import View, view_of
from tests.analysis.made_runs import partly_contaminated_run


def test_a_figure_is_a_column_where_any_trial_has_it(view: View) -> None:
    assert "worker_growth_mib_per_epoch" not in trials_table(view).head
    growth = [12.5, *[np.nan] * (len(view.trials) - 1)]
    cells = {"metrics.worker_growth_mib_per_epoch": growth}
    table = trials_table(replace(view, trials=view.trials.assign(**cells)))
    column = table.head.index("worker_growth_mib_per_epoch")
    assert [row[column].text for row in table.rows[:2]] == ["12.5 MiB", ""]
    assert table.numeric[column]


def test_every_trial_has_a_row_with_its_state(view: View) -> None:
    table = trials_table(view)
    assert len(table.rows) == len(view.trials) == 35
    assert set(table.marks) == {"completed", "stopped", "infeasible", "failed", "not_run"}


def test_lost_trials_are_counted_by_their_reason(view: View) -> None:
    lost = {one.reason.partition("\n")[0]: (one.state, one.count) for one in lost_trials(view)}
    assert lost["needs 2 GPUs, the largest node has 0"] == ("infeasible", 1)
    assert lost["the time budget ended"] == ("not run", 1)
    assert len(lost) == 5


def test_the_front_counts_the_runs_of_a_speed_apart_where_an_accuracy_has_more() -> None:
    tables = partly_contaminated_run().tables
    view = view_of(tables, recommend(tables))
    table = front_table(view, view.configs)
    column = table.head.index("runs")
    assert [row[column].text for row in table.rows] == ["2 (accuracy 3)", "3"]
