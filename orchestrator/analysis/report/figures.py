"""A figure with the table that it draws: on the page, and as a CSV file beside it."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Any

import pandas as pd
import plotly.graph_objects as go

from orchestrator.storage.files import RunFile
from orchestrator.storage.replacing import replace_file

_DIGITS = 6
"""Significant digits of a figure on the page; the files have all of them."""


@dataclass(frozen=True, kw_only=True)
class Figure:
    """A figure of the page.

    Attributes:
        name: Its id on the page and its file's name: lower case, words joined by ``-``.
        figure: The figure itself, in colours of :mod:`orchestrator.analysis.report.style`: the page
            has another set of them for a dark screen.
        table: What it draws, one row a mark; its columns as in the trials table.
        caption: Sentences below it.
        label: One sentence for those who cannot see it: what it shows, and how it comes out.
        shown: Ranges of axes at first, by plotly's names (``yaxis.range``); empty for all of it.
        rest: Words of the button that shows the rest; needed with ``shown``.
    """

    name: str
    figure: go.Figure
    table: pd.DataFrame
    caption: str = ""
    label: str = ""
    shown: Mapping[str, list[float]] = field(default_factory=dict)
    rest: str = ""

    def to_json(self) -> dict[str, Any]:
        """Return what the page's script draws it and makes its CSV from."""
        plain: dict[str, Any] = json.loads(self.figure.to_json())
        # The style sets all that plotly's own template would.
        layout = {name: part for name, part in plain["layout"].items() if name != "template"}
        return {
            "data": plain["data"],
            "layout": layout,
            "shown": dict(self.shown),
            "rest": self.rest,
            "columns": list(map(str, self.table.columns)),
            "rows": [_short(self.table[column]) for column in self.table.columns],
        }


def write_tables(tables: Mapping[str, pd.DataFrame], run_dir: Path) -> None:
    """Write each table as ``RUN_DIR/figures/<name>.csv``.

    Raises:
        OSError: The directory cannot be written.
    """
    folder = run_dir / RunFile.FIGURES
    folder.mkdir(exist_ok=True)
    for name, table in tables.items():
        replace_file(folder / f"{name}.csv", partial(table.to_csv, index=False))


def tables_of(figures: Iterable[Figure]) -> dict[str, pd.DataFrame]:
    """Return the table of each figure by its name."""
    return {figure.name: figure.table for figure in figures}


def _short(column: pd.Series[Any]) -> list[Any]:
    """Return a column's cells as JSON holds them: short numbers, None for a missing one."""
    if pd.api.types.is_float_dtype(column.dtype):
        return [float(f"{value:.{_DIGITS}g}") if value == value else None for value in column]
    if pd.api.types.is_integer_dtype(column.dtype) or pd.api.types.is_bool_dtype(column.dtype):
        return [None if pd.isna(value) else value for value in column.tolist()]
    return [None if cell is None or cell != cell else str(cell) for cell in column.tolist()]
