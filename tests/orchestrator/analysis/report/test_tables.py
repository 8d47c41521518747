"""Tables of the page."""

from __future__ import annotations

from orchestrator.analysis.findings.findings import findings
from orchestrator.analysis.report.tables import (
    INTERVAL,
    Cell,
    Table,
    figure_cell,
    front_table,
    verdict_cell,
    without_same,
)
from orchestrator.analysis.report.view import View, view_of
from tests.orchestrator.analysis.made_runs import partly_contaminated_run


def table_of(*columns: tuple[str, ...], head: tuple[str, ...]) -> Table:
    rows = tuple(tuple(Cell(text=text) for text in row) for row in zip(*columns, strict=True))
    return Table(head=head, rows=rows, marks=("",) * len(rows))


def test_a_column_that_is_the_same_in_every_row_is_named_below_the_table() -> None:
    table = table_of(("3", "4"), ("8", "8"), ("", ""), head=("workers", "batch", "note"))
    less = without_same(table, among=("workers", "batch", "note"))
    assert less.head == ("workers",)
    assert [[cell.text for cell in row] for row in less.rows] == [["3"], ["4"]]
    assert less.same == (("batch", "8"), ("note", "nothing"))
    assert without_same(table, among=("workers",)) == table
    one = table_of(("3",), ("8",), head=("workers", "batch"))
    assert without_same(one, among=("workers", "batch")) is one


def test_a_number_that_its_text_does_not_tell_has_a_key() -> None:
    """A browser sorts by the text where it can: each key takes room on the page."""
    assert not Cell(text="12,345", number=12345.4).needs_key
    assert not Cell(text="1.2e-05", number=1.2e-5).needs_key
    assert Cell(text="91.57 %", number=0.9157).needs_key, "not 91.57"
    assert Cell(text="2 (accuracy 3)", number=2.0).needs_key
    assert not Cell(text="").needs_key


def test_an_interval_is_called_after_its_figure_in_the_file() -> None:
    table = table_of(("a",), ("1",), ("0 to 2",), head=("", "samples_per_s", INTERVAL))
    assert list(table.to_frame().columns) == ["", "samples_per_s", "samples_per_s 95 % interval"]


def test_units_are_in_the_head_alone() -> None:
    assert figure_cell("step_ms", 12.5).text == "12.5"
    assert figure_cell("peak_rss_gib", 1.25, " †").text == "1.25 †"
    assert figure_cell("val_acc", 0.915).text == "91.50 %"


def test_the_front_counts_the_runs_of_a_speed_apart_where_an_accuracy_has_more() -> None:
    tables = partly_contaminated_run().tables
    view = view_of(tables, findings(tables))
    table = front_table(view, view.configs)
    column = table.head.index("runs")
    assert [row[column].text for row in table.rows] == ["2 (accuracy 3)", "3"]


def test_the_recommended_config_is_within_the_margin_only_where_that_is_shown(view: View) -> None:
    near = {"ratio_to_best": 0.99, "is_recommended": True}
    tied = verdict_cell({**near, "verdict": "tied"}, view.rule)
    assert (tied.text, tied.style) == ("within 2 % of the fastest", "verdict tied")
    for verdict in ("unresolved", "worse", "best"):
        assert verdict_cell({**near, "verdict": verdict}, view.rule).text == verdict
    other = {**near, "verdict": "tied", "is_recommended": False}
    assert verdict_cell(other, view.rule).text == "tied"
