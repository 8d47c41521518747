"""Time to accuracy."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from orchestrator.analysis.findings.findings import findings
from orchestrator.analysis.report.sections.times import times_of
from orchestrator.analysis.report.view import View, view_of
from tests.orchestrator.analysis.made_runs import MadeRun, config


def test_the_table_names_the_accuracy_and_counts_the_runs(view: View) -> None:
    times = times_of(view)
    assert times is not None
    assert times.table is not None
    assert times.title.startswith("time to val_acc 9")
    column = times.table.head.index("runs there")
    assert {row[column].text for row in times.table.rows} <= {"0 of 1", "1 of 1"}
    assert sum(mark == "recommended" for mark in times.table.marks) == 1


def test_without_curves_there_is_no_table(view: View) -> None:
    assert times_of(replace(view, curves=view.curves.iloc[:0])) is None


def test_the_soonest_are_shown_and_always_the_recommended_and_the_baseline() -> None:
    run = MadeRun()
    run.add(config(lr=1e-4))  # the baseline's knobs but lr: not accurate
    for lr in np.geomspace(2e-3, 5e-3, 22):
        run.add(config(num_workers=3, lr=float(lr)))
    run.add(config())
    times = times_of(view_of(run.tables, findings(run.tables)))
    assert times is not None
    assert times.table is not None
    roles = [row[0].text for row in times.table.rows]
    assert {"recommended", "baseline"} <= set(", ".join(roles).split(", "))
    assert (len(roles), times.table.num_left_out) == (16, 24 - 16)
    shown = [row[-4].number for row in times.table.rows]
    reached = [number for number in shown if number is not None]
    assert reached == sorted(reached)
