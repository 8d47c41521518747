"""What a section may hold."""

from __future__ import annotations

import pandas as pd

from orchestrator.analysis.report.figures import Drawing, Figure, rows_axis
from orchestrator.analysis.report.page import sections_of
from orchestrator.analysis.report.sections.section import (
    Section,
    figures_of,
    tables_of_sections,
)
from orchestrator.analysis.report.tables import Cell, Table
from orchestrator.analysis.report.view import View


def test_figures_and_tables_are_found_by_their_names() -> None:
    figure = Figure(name="drawn", drawing=Drawing(), table=pd.DataFrame())
    table = Table(head=("knob",), rows=((Cell(text="lr"),),), marks=("",))
    sections = (Section(name="one", title="One", figures=(figure,)),
                Section(name="two", title="Two", table=table))  # fmt: skip
    assert figures_of(sections) == {"drawn": figure}
    assert tables_of_sections(sections) == {"two": table}


def test_no_id_of_the_page_is_given_twice(view: View) -> None:
    """A figure is drawn into the element of its name: a section's would be drawn over."""
    sections = sections_of(view)
    names = [section.name for section in sections] + list(figures_of(sections))
    assert len(set(names)) == len(names)


def test_every_section_shows_something_or_says_why_not(view: View) -> None:
    for section in sections_of(view):
        shown = section.table is not None or bool(section.figures)
        assert shown != bool(section.missing), section.name


def test_rows_go_from_the_first_on_top() -> None:
    axis = rows_axis(["b", "a"])
    assert axis["autorange"] == "reversed"
    assert axis["categoryarray"] == ["b", "a"]
