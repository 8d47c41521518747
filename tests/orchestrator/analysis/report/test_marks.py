"""Marks of configs."""

from __future__ import annotations

from orchestrator.analysis.report.marks import marks_of
from orchestrator.analysis.report.view import View


def test_each_config_has_the_first_mark_that_it_may_have(view: View) -> None:
    found = marks_of(view.shown, view.rule)
    assert list(found) == [
        "not accurate enough", "other configs", "on the front", "baseline", "recommended",
    ]  # fmt: skip
    rows = [index for _, some in found.values() for index in some.index]
    assert sorted(rows) == sorted(view.shown.index)
    both = view.shown.assign(is_baseline=view.shown["is_recommended"])
    assert "baseline" not in marks_of(both, view.rule), "the recommended one comes first"
    on_front = both.assign(on_front=True)
    assert list(marks_of(on_front, view.rule)) == ["on the front", "recommended"]


def test_kinds_without_a_config_are_left_out(view: View) -> None:
    assert marks_of(view.shown.iloc[:0], view.rule) == {}
