"""Time to accuracy."""

from __future__ import annotations

from dataclasses import replace

from analysis.report.times import times_of
from analysis.report.view import View


def test_the_table_names_the_accuracy_and_counts_the_runs(view: View) -> None:
    times = times_of(view)
    assert times is not None
    assert times.target.startswith("val_acc 9")
    column = times.table.head.index("runs there")
    assert {row[column].text for row in times.table.rows} <= {"0 of 1", "1 of 1"}
    assert sum(mark == "recommended" for mark in times.table.marks) == 1


def test_without_curves_there_is_no_table(view: View) -> None:
    assert times_of(replace(view, curves=view.curves.iloc[:0])) is None
