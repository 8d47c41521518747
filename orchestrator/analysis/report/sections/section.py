"""A section of the page: what it shows, or in a sentence why there is nothing to show."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from orchestrator.analysis.report.figures import Figure
from orchestrator.analysis.report.tables import Table


@dataclass(frozen=True, kw_only=True)
class Section:
    """A section, in the order in which the page has its parts: lines, table, figures, folds.

    Attributes:
        name: Its id on the page.
        title: Its heading.
        level: Of the heading: 2, or 3 within the section before it.
        missing: Why there is nothing to show, a sentence; "" where there is something.
        lines: Sentences of what came out.
        table: Its table; the page gives it as CSV by the section's name.
        notes: Sentences below the table.
        figures: Its figures.
        folded: Heading and sentences of parts that are shown on a click.
    """

    name: str
    title: str
    level: int = 2
    missing: str = ""
    lines: tuple[str, ...] = ()
    table: Table | None = None
    notes: tuple[str, ...] = ()
    figures: tuple[Figure, ...] = ()
    folded: tuple[tuple[str, tuple[str, ...]], ...] = ()


def figures_of(sections: Iterable[Section]) -> dict[str, Figure]:
    """Return the figures of some sections by their name."""
    return {figure.name: figure for section in sections for figure in section.figures}


def tables_of_sections(sections: Iterable[Section]) -> dict[str, Table]:
    """Return the tables of some sections by their name."""
    return {section.name: section.table for section in sections if section.table is not None}
