"""Tables and sections of the page: text to read, and the numbers that it is sorted by."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

import pandas as pd

from orchestrator.analysis.columns import config_of
from orchestrator.analysis.report.drawing import Figure
from orchestrator.analysis.report.view import View
from orchestrator.analysis.wording import short, shown, telling_knobs
from orchestrator.metric_table import unit_of

INTERVAL: Final = "95 % interval"
_PLAIN: Final = re.compile(r"-?[\d,]+(\.\d+)?(e[-+]?\d+)?")
"""Text in which a browser finds the number itself."""

Row = Mapping[Any, Any]


@dataclass(frozen=True)
class Cell:
    """Text of a cell, its number if it has one; a style and a file to open, or ""."""

    text: str
    number: float | None = None
    style: str = ""
    link: str = ""

    @property
    def needs_key(self) -> bool:
        """True if the number cannot be read from the text."""
        return self.number is not None and _PLAIN.fullmatch(self.text) is None


@dataclass(frozen=True, kw_only=True)
class Table:
    """A table to be rendered.

    Attributes:
        head: Column titles; that of a metric alone has its unit below it on the page.
        rows: Cells by row.
        marks: For each row a word that the page gives its own style, or ""; () for none.
        num_left_out: Rows for which there was no room.
        num_rest: Number of last columns that are shown on a click.
        sortable: True if a click on a title sorts it.
    """

    head: tuple[str, ...]
    rows: tuple[tuple[Cell, ...], ...]
    marks: tuple[str, ...] = ()
    num_left_out: int = 0
    num_rest: int = 0
    sortable: bool = False

    @property
    def numeric(self) -> tuple[bool, ...]:
        """True for each column of numbers."""
        columns = zip(*self.rows, strict=True) if self.rows else [()] * len(self.head)
        return tuple(any(cell.number is not None for cell in column) for column in columns)

    def column(self, title: str) -> list[Cell]:
        """Return the cells below a title."""
        return [row[self.head.index(title)] for row in self.rows]

    def to_frame(self) -> pd.DataFrame:
        """Return the cells as a frame: numbers if they are numbers, else the text.

        An interval has the name of the column before it.
        """
        cells = [
            [cell.text if cell.number is None else cell.number for cell in row] for row in self.rows
        ]
        names = [
            f"{before} {name}" if name == INTERVAL else name
            for before, name in zip(("", *self.head), self.head, strict=False)
        ]
        return pd.DataFrame(cells, columns=names)


@dataclass(frozen=True)
class Section:
    """A section of the page: its content, or a sentence why there is none.

    Attributes:
        name: Its id on the page.
        title: Its heading.
        level: Of the heading: 2, or 3 within the section before it.
        missing: Why there is nothing to show, a sentence; "" if there is something.
        lines: Sentences with the results.
        table: Its table; the page offers it as CSV by the section's name.
        notes: Sentences below the table.
        figures: Its figures.
        folded: Heading and sentences of parts that are shown on a click.
        facts: Names with their values.
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
    facts: tuple[tuple[str, str], ...] = ()


def table_of_configs(
    view: View,
    rows: pd.DataFrame,
    columns: Sequence[tuple[str, Callable[[Row], Cell]]],
    *,
    num_all: int | None = None,
) -> Table:
    """Return a table of configs: their role, the knobs that distinguish them, other columns.

    Args:
        view: The run.
        rows: Configs, in their order.
        columns: The title of each other column, and the function for a row's cell.
        num_all: Number of all configs; None for the rows alone.
    """
    records = rows.to_dict("records")
    knobs = telling_knobs([config_of(row, view.sweep) for row in records], view.sweep)
    cells = [
        (
            Cell(role_of(row)),
            *(knob_cell(row[f"params.{name}"]) for name in knobs),
            *(cell_of(row) for _, cell_of in columns),
        )
        for row in records
    ]
    return Table(
        head=("", *knobs, *(title for title, _ in columns)),
        rows=tuple(cells),
        marks=tuple("recommended" if row["is_recommended"] else "" for row in records),
        num_left_out=0 if num_all is None else num_all - len(rows),
    )


def measured(rows: pd.DataFrame, metrics: list[str]) -> list[str]:
    """Return the metrics that any of the rows has."""
    columns = {metric: f"metrics.{metric}" for metric in dict.fromkeys(metrics)}
    return [m for m, column in columns.items() if column in rows and rows[column].notna().any()]


def role_of(row: Row) -> str:
    """Return ``recommended``, ``baseline``, both or ""."""
    return ", ".join(word for word in ("recommended", "baseline") if row[f"is_{word}"])


def knob_cell(value: object) -> Cell:
    """Return a knob's value."""
    is_number = isinstance(value, (int, float)) and not isinstance(value, bool)
    return Cell(short(value), number=float(value) if is_number else None)  # type: ignore[arg-type]


def figure_of(row: Row, metric: str, sign: str = "") -> Cell:
    """Return the :func:`figure_cell` of a row's figure."""
    return figure_cell(metric, row[f"metrics.{metric}"], sign)


def figure_cell(metric: str, value: float, sign: str = "") -> Cell:
    """Return a figure without its unit, which the head has; empty if it was not measured.

    Args:
        metric: The figure's name.
        value: The figure.
        sign: Text after it.
    """
    if pd.isna(value):
        return Cell("")
    unit = unit_of(metric)
    text = shown(metric, value).removesuffix(" samples/s").removesuffix(f" {unit}")
    return Cell(text + sign, number=float(value))


def count_cell(count: int) -> Cell:
    """Return a count."""
    return Cell(f"{count:,}", number=float(count))
