"""Tables of the page."""

from __future__ import annotations

from orchestrator.analysis.report.page import sections_of
from orchestrator.analysis.report.tables import INTERVAL, Cell, Table, figure_cell
from orchestrator.analysis.report.view import View


def test_a_number_that_its_text_does_not_tell_has_a_key() -> None:
    """A browser sorts by the text where it can: each key takes room on the page."""
    assert not Cell(text="12,345", number=12345.4).needs_key
    assert not Cell(text="1.2e-05", number=1.2e-5).needs_key
    assert Cell(text="91.57 %", number=0.9157).needs_key, "not 91.57"
    assert Cell(text="2 (accuracy 3)", number=2.0).needs_key
    assert not Cell(text="").needs_key


def test_an_interval_is_called_after_its_figure_in_the_file() -> None:
    cells = tuple(Cell(text=text) for text in ("a", "1", "0 to 2"))
    frame = Table(head=("", "samples_per_s", INTERVAL), rows=(cells,)).to_frame()
    assert list(frame.columns) == ["", "samples_per_s", "samples_per_s 95 % interval"]


def test_units_are_in_the_head_alone() -> None:
    assert figure_cell("step_ms", 12.5).text == "12.5"
    assert figure_cell("peak_rss_gib", 1.25, " †").text == "1.25 †"
    assert figure_cell("val_acc", 0.915).text == "91.50 %"


def test_no_id_of_the_page_is_given_twice_and_no_section_is_empty(view: View) -> None:
    """A figure is drawn into the element of its name: a section's would be drawn over."""
    sections = sections_of(view)
    names = [section.name for section in sections]
    names += [figure.name for section in sections for figure in section.figures]
    assert len(set(names)) == len(names)
    for section in sections:
        is_shown = bool(section.table or section.figures or section.lines or section.facts)
        assert is_shown != bool(section.missing), section.name
