"""Tables and sections of the page: text to read, and the numbers that it is sorted by."""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from functools import partial
from typing import Any, Final

import pandas as pd

from orchestrator.analysis.columns import config_of, text_of
from orchestrator.analysis.report.drawing import Figure
from orchestrator.analysis.report.view import View
from orchestrator.analysis.wording import short, shown, telling_knobs
from orchestrator.metric_table import unit_of

INTERVAL: Final = "95 % interval"
MAX_KNOBS: Final = 4
"""Knobs with a column that is shown without a click."""

Row = Mapping[Any, Any]


@dataclass(frozen=True)
class Cell:
    """Text of a cell, its number if it has one; a style and a file to open, or ""."""

    text: str
    number: float | None = None
    style: str = ""
    link: str = ""


Column = tuple[str, Callable[[Row], Cell]]
"""Title of a column, and the function from a row to its cell."""


@dataclass(frozen=True, kw_only=True)
class Table:
    """A table to be rendered.

    Attributes:
        head: Column titles; the page adds the unit below the title of a metric.
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


def table_of(records: Iterable[Row], columns: Iterable[Column], **more: Any) -> Table:  # noqa: ANN401
    """Return a table of some rows; ``more`` are attributes of :class:`Table`."""
    columns = list(columns)
    rows = tuple(tuple(cell_of(row) for _, cell_of in columns) for row in records)
    return Table(head=tuple(title for title, _ in columns), rows=rows, **more)


def table_of_configs(
    view: View,
    rows: pd.DataFrame,
    columns: Iterable[Column],
    *,
    rest: Iterable[Column] = (),
    num_all: int,
    **more: Any,  # noqa: ANN401
) -> Table:
    """Return a table of configs: their role, the knobs that distinguish them, other columns.

    Args:
        view: The run.
        rows: Configs, in their order.
        columns: The other columns.
        rest: Columns that are shown on a click, after the knobs that are.
        num_all: Number of all configs.
        more: Attributes of :class:`Table`.
    """
    records = rows.to_dict("records")
    marks = tuple("recommended" if row["is_recommended"] else "" for row in records)
    knobs, other_knobs = knob_columns(view, records)
    rest = [*other_knobs, *rest]
    return table_of(
        records,
        [("", lambda row: Cell(role_of(row))), *knobs, *columns, *rest],
        num_left_out=num_all - len(rows),
        num_rest=len(rest),
        **{"marks": marks, **more},
    )


def knob_columns(view: View, records: Iterable[Row]) -> tuple[list[Column], list[Column]]:
    """Return the columns of the knobs that distinguish some rows: those to show, and the rest.

    With more than :data:`MAX_KNOBS` the knobs that the recommended config changes come first.
    """

    def cell(row: Row, name: str) -> Cell:
        value = row[f"params.{name}"]
        is_number = isinstance(value, (int, float)) and not isinstance(value, bool)
        return Cell(short(value), number=float(value) if is_number else None)

    configs = [config_of(row, view.sweep) for row in records]
    names = telling_knobs(configs, view.sweep) if configs else []
    columns: list[Column] = [(n, partial(cell, name=n)) for n in names if n in configs[0]]
    if len(columns) > MAX_KNOBS:
        changed = {change.knob for change in view.findings.changes}
        columns.sort(key=lambda column: column[0] not in changed)
    return columns[:MAX_KNOBS], columns[MAX_KNOBS:]


def figure_columns(
    metrics: Iterable[str], sign_of: Callable[[Row], str] | None = None
) -> list[Column]:
    """Return the columns of some figures, with a sign after each."""
    return [(name, partial(figure_of, metric=name, sign_of=sign_of)) for name in metrics]


def text_column(title: str, name: str) -> Column:
    """Return the column of a row's text, empty for none."""
    return title, lambda row: Cell(text_of(row.get(name)))


def measured(rows: pd.DataFrame, metrics: Iterable[str]) -> list[str]:
    """Return the metrics that any of the rows has."""
    columns = {metric: f"metrics.{metric}" for metric in metrics}
    return [m for m, column in columns.items() if column in rows and rows[column].notna().any()]


def role_of(row: Row) -> str:
    """Return ``recommended``, ``baseline``, both or ""."""
    return ", ".join(word for word in ("recommended", "baseline") if row[f"is_{word}"])


def figure_of(row: Row, metric: str, sign_of: Callable[[Row], str] | None = None) -> Cell:
    """Return the :func:`figure_cell` of a row's figure, with a sign after it."""
    return figure_cell(metric, row[f"metrics.{metric}"], sign_of(row) if sign_of else "")


def figure_cell(metric: str, value: float, sign: str = "") -> Cell:
    """Return a figure without its unit, which the head has; empty if it was not measured."""
    if pd.isna(value):
        return Cell("")
    unit = unit_of(metric)
    text = shown(metric, value).removesuffix(" samples/s").removesuffix(f" {unit}")
    return Cell(text + sign, number=float(value))
